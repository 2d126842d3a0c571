# A search on a server of autoprog, from R: upload, search, wait, predict, report.
#
#   autoprog serve                      # in another terminal
#   Rscript examples/client.R           # or: Rscript examples/client.R https://autoprog.example.org
#
# A server that is not on this machine asks for a key: set the environment variable AUTOPROG_KEY.
# Needs R 4.1, httr2 (1.1 or later goes on after a lost connection), which brings curl, and jsonlite.

library(httr2)

arguments <- commandArgs(trailingOnly = TRUE)
url <- if (length(arguments) > 0) arguments[[1]] else "http://127.0.0.1:8000"
key <- Sys.getenv("AUTOPROG_KEY")

# A failed request is a problem document (RFC 9457), which names every fault.
faults <- function(response) {
  problem <- resp_body_json(response)
  each <- vapply(problem$errors, function(fault) paste0(fault$pointer, ": ", fault$detail), character(1))
  c(problem$title, problem$detail, each)
}

# A busy server (429, 503) says by Retry-After when to ask again, and httr2 waits as long. Before version 1.1 httr2 does
# not ask again when the connection fails.
again <- list(max_tries = 8)
if ("retry_on_failure" %in% names(formals(req_retry))) again$retry_on_failure <- TRUE

api <- function(...) {
  asked <- request(url) |>
    req_url_path_append("v1", ...) |>
    req_timeout(60)
  asked <- do.call(req_retry, c(list(asked), again)) |> req_error(body = faults)
  if (nzchar(key)) req_auth_bearer_token(asked, key) else asked
}

# Sent again after a lost answer, a request with the same key is done once.
once <- function(asked) {
  name <- paste0(sample(c(0:9, letters), 32, replace = TRUE), collapse = "")
  req_headers(asked, `Idempotency-Key` = name)
}

get <- function(...) api(...) |> req_perform() |> resp_body_json()

post <- function(document, ...) {
  api(...) |> once() |> req_body_json(document) |> req_perform() |> resp_body_json()
}

# 1. Upload. R's `infert` comes with R: women with and without secondary infertility.
patients <- datasets::infert[, c("education", "age", "parity", "induced", "spontaneous", "case")]
file <- tempfile(fileext = ".csv")
write.csv(patients, file, row.names = FALSE, na = "")

spec <- list(
  name = "infertility",
  mode = "classification",
  outcome = list(column = "case", positive = 1)
)
cohort <- api("cohorts") |>
  once() |>
  req_body_multipart(
    file = curl::form_file(file, type = "text/csv"),
    spec = curl::form_data(jsonlite::toJSON(spec, auto_unbox = TRUE), type = "application/json")
  ) |>
  req_perform() |>
  resp_body_json()
cat(cohort$name, ":", cohort$n_patients, "patients\n")
for (warning in cohort$warnings) cat("warning:", warning, "\n")

# 2. Search for a minute, and poll until it has ended.
search <- post(list(cohort_id = cohort$id, budget = list(time_s = 60, evaluations = 100), seed = 1), "searches")
while (is.null(search$finished_at)) {
  Sys.sleep(2)
  search <- get("searches", search$id)
  best <- search$progress$best_score
  cat(sprintf(
    "%3.0f s  %s, %d pipelines%s\n",
    search$progress$elapsed_s,
    if (is.null(search$phase)) search$status else search$phase,
    search$progress$evaluations$succeeded,
    if (is.null(best)) "" else sprintf(", best %s %.3f", search$settings$metric, best)
  ))
}
if (is.null(search$model_id)) stop("no model: ", search$error$detail)
for (warning in search$warnings) cat("warning:", warning, "\n")

# 3. The score beside that of the simple model.
ensemble <- get("searches", search$id, "ensemble")
show <- function(score) sprintf("%.3f [%.3f, %.3f]", score$estimate, score$lower, score$upper)
cat(search$settings$metric, show(ensemble$score), "\n")
if (!is.null(ensemble$baseline)) cat("simple model", show(ensemble$baseline$score), "\n")

# 4. Predict. Every feature of the model is needed; what is not known is null.
row <- function(i) lapply(patients[i, names(patients) != "case"], function(cell) {
  if (is.na(cell)) NULL else if (is.factor(cell)) as.character(cell) else cell
})
predicted <- post(list(patients = lapply(1:5, row)), "models", search$model_id, "predictions")
risks <- do.call(rbind, lapply(predicted$items, function(item) {
  interval <- if (is.null(item$interval)) c(NA, NA) else unlist(item$interval)
  data.frame(risk = item$risk, lower = interval[[1]], upper = interval[[2]], stratum = item$stratum)
}))
print(risks, digits = 3)

# 5. The report, one page of HTML.
invisible(api("searches", search$id, "report") |> req_perform(path = "report.html"))
cat("wrote report.html\n")
