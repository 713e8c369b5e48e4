# gnuplot -c soak.gp SOAK.csv SOAK.svg
set terminal svg size 900,720 font "sans,12" background "white"
set output ARG2
set datafile separator ","
set key autotitle columnhead right center
set multiplot layout 3,1
set yrange [0:*]
set ylabel "MiB"
plot ARG1 using 1:2 with lines lw 2 lc rgb "#1b6ca8" title "resident memory"
set ylabel "number"
plot ARG1 using 1:3 with lines lw 2 lc rgb "#1b6ca8" title "descriptors", \
     ARG1 using 1:4 with lines lw 2 lc rgb "#c4572b" title "threads"
set ylabel "ms"
set xlabel "minute"
set key right top
set logscale y
set yrange [0.1:*]
plot ARG1 using 1:6 with lines lw 1 lc rgb "#1b6ca8" title "p50, unary", \
     ARG1 using 1:7 with lines lw 2 lc rgb "#1b6ca8" title "p99, unary", \
     ARG1 using 1:9 with lines lw 1 lc rgb "#c4572b" title "p50, Submit stream", \
     ARG1 using 1:10 with lines lw 2 lc rgb "#c4572b" title "p99, Submit stream"
