/* What is said on stderr, a line at a time. */
#ifndef BASEBAND_CLIENT_OAI_LOG_H_
#define BASEBAND_CLIENT_OAI_LOG_H_

__attribute__((format(printf, 1, 2))) void bo_log(const char* format, ...);

#endif /* BASEBAND_CLIENT_OAI_LOG_H_ */
