/*
 * The least that a program can do with libcurl: the bar for a client that does not use it.
 * One easy handle reused (serial), or many in one multi handle (multi). Prints one line of JSON.
 */
#include <curl/curl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MAX_CONCURRENCY = 4096, MAX_URL = 4096, FIRST_NUMBER = 1000000 };

struct job {
    const char *mode, *url, *ca_file;
    long requests;  /* stop after this many; 0: no such limit */
    double seconds; /* stop after this long; 0: no such limit */
    int concurrency;
    int fresh;    /* a new connection for each request */
    int cold;     /* connecting is part of what is measured */
    int http2;    /* many share one connection */
    int distinct; /* each request has a URL of its own */
    const char *proxy;
    const char *data; /* the body of POSTs; NULL: GETs */
    struct curl_slist *headers;
};

struct usage {
    double wall, user, sys;
};

static double seconds_of(struct timeval t) {
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double wall_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct usage usage_now(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (struct usage){wall_now(), seconds_of(r.ru_utime), seconds_of(r.ru_stime)};
}

static void die(const char *what, const char *why) {
    fprintf(stderr, "bare_curl: %s: %s\n", what, why);
    exit(1);
}

static size_t discard(char *bytes, size_t size, size_t count, void *unused) {
    (void)bytes;
    (void)unused;
    return size * count;
}

static CURL *new_easy(const struct job *job) {
    CURL *easy = curl_easy_init();
    if (!easy) die("curl_easy_init", "no memory");
    curl_easy_setopt(easy, CURLOPT_URL, job->url);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
    if (strcmp(job->mode, "show") != 0) curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
    if (job->fresh) curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    if (job->proxy) curl_easy_setopt(easy, CURLOPT_PROXY, job->proxy);
    if (job->http2) {
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
        curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    }
    if (job->headers) curl_easy_setopt(easy, CURLOPT_HTTPHEADER, job->headers);
    if (job->data) curl_easy_setopt(easy, CURLOPT_POSTFIELDS, job->data);
    if (job->ca_file) {
        /* libcurl keeps the parsed bundle only where no CA directory is set. */
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
        curl_easy_setopt(easy, CURLOPT_CAINFO, job->ca_file);
    }
    return easy;
}

/* Gives the next request its URL, which libcurl copies: the job's with a number in its query. */
static void set_url(CURL *easy, const struct job *job) {
    static long number = FIRST_NUMBER;
    char url[MAX_URL];
    if (!job->distinct) return;
    snprintf(url, sizeof(url), "%s%c%ld", job->url, strchr(job->url, '?') ? '&' : '?', number++);
    curl_easy_setopt(easy, CURLOPT_URL, url);
}

static void must_succeed(CURLcode code) {
    if (code != CURLE_OK) die("request", curl_easy_strerror(code));
}

static int is_over(const struct job *job, long done, double started) {
    if (job->requests && done >= job->requests) return 1;
    return job->seconds > 0 && wall_now() - started >= job->seconds;
}

static long run_serial(const struct job *job, struct usage *before) {
    CURL *easy = new_easy(job);
    long done = 0;
    if (!job->cold) must_succeed(curl_easy_perform(easy)); /* connect and warm up */
    *before = usage_now();
    while (!is_over(job, done, before->wall)) {
        set_url(easy, job);
        must_succeed(curl_easy_perform(easy));
        done++;
    }
    curl_easy_cleanup(easy);
    return done;
}

/* Takes what has ended; starts each again while the job is not over. Returns how many ended. */
static long harvest(CURLM *multi, const struct job *job, long done, double started, int *open) {
    long ended = 0;
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left))) {
        CURL *easy = message->easy_handle;
        if (message->msg != CURLMSG_DONE) continue;
        must_succeed(message->data.result);
        ended++;
        curl_multi_remove_handle(multi, easy);
        if (is_over(job, done + ended + *open - 1, started)) {
            curl_easy_cleanup(easy);
            --*open;
        } else {
            set_url(easy, job);
            curl_multi_add_handle(multi, easy);
        }
    }
    return ended;
}

/* The first of each handle connects and warms up. */
static long run_multi(const struct job *job, struct usage *before) {
    CURLM *multi = curl_multi_init();
    long done = -job->concurrency;
    int open = job->concurrency, running;
    if (!multi) die("curl_multi_init", "no memory");
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)job->concurrency);
    if (job->http2) {
        curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
        curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    }
    for (int i = 0; i < open; i++) curl_multi_add_handle(multi, new_easy(job));
    *before = usage_now();
    while (open > 0) {
        if (done < 0) *before = usage_now();
        curl_multi_perform(multi, &running);
        done += harvest(multi, job, done, before->wall, &open);
        if (open > 0) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    curl_multi_cleanup(multi);
    return done;
}

static void show_body(const struct job *job) {
    CURL *easy = new_easy(job);
    must_succeed(curl_easy_perform(easy));
    curl_easy_cleanup(easy);
}

static struct job job_from(int argc, char **argv) {
    static const struct option options[] = {{"requests", required_argument, NULL, 'n'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {"concurrency", required_argument, NULL, 'c'},
                                            {"cacert", required_argument, NULL, 'a'},
                                            {"fresh", no_argument, NULL, 'f'},
                                            {"cold", no_argument, NULL, 'o'},
                                            {"http2", no_argument, NULL, '2'},
                                            {"proxy", required_argument, NULL, 'p'},
                                            {"data", required_argument, NULL, 'd'},
                                            {"header", required_argument, NULL, 'h'},
                                            {"distinct", no_argument, NULL, 'u'},
                                            {NULL, 0, NULL, 0}};
    struct job job = {.concurrency = 1};
    int option;
    while ((option = getopt_long(argc, argv, "n:s:c:a:fod:h:2p:u", options, NULL)) != -1) {
        if (option == 'n') job.requests = atol(optarg);
        if (option == 's') job.seconds = atof(optarg);
        if (option == 'c') job.concurrency = atoi(optarg);
        if (option == 'a') job.ca_file = optarg;
        if (option == 'f') job.fresh = 1;
        if (option == 'o') job.cold = 1;
        if (option == '2') job.http2 = 1;
        if (option == 'u') job.distinct = 1;
        if (option == 'p') job.proxy = optarg;
        if (option == 'd') job.data = optarg;
        if (option == 'h') job.headers = curl_slist_append(job.headers, optarg);
        if (option == '?') exit(2);
    }
    if (argc - optind != 2) die("usage", "bare_curl [options] serial|multi|show URL");
    job.mode = argv[optind];
    job.url = argv[optind + 1];
    if (job.concurrency < 1 || job.concurrency > MAX_CONCURRENCY) die("concurrency", "1 to 4096");
    return job;
}

int main(int argc, char **argv) {
    struct job job = job_from(argc, argv);
    struct usage before, after;
    long done;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    if (strcmp(job.mode, "show") == 0) {
        show_body(&job);
        return 0;
    }
    if (!job.requests && job.seconds <= 0) die("usage", "say --requests or --seconds");
    if (strcmp(job.mode, "serial") != 0 && strcmp(job.mode, "multi") != 0)
        die("mode", "serial, multi or show");
    done = strcmp(job.mode, "multi") == 0 ? run_multi(&job, &before) : run_serial(&job, &before);
    after = usage_now();
    printf("{\"requests\":%ld,\"wall\":%.6f,\"user\":%.6f,\"sys\":%.6f}\n", done,
           after.wall - before.wall, after.user - before.user, after.sys - before.sys);
    curl_slist_free_all(job.headers);
    curl_global_cleanup();
    return 0;
}
