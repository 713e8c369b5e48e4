# target bundle: written with the server
