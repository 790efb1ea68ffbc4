// The health check of a container: exits with 0 when `/healthz` on this port answers. node deploy/healthcheck.mjs 8081
const port = process.argv[2] ?? '9090'

try {
  const response = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(2_000) })
  process.exitCode = response.ok ? 0 : 1
} catch {
  process.exitCode = 1
}
