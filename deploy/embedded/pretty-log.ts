import { prettyFactory } from 'pino-pretty'

type LogFormatter = (line: string) => string

/**
 * Formats JSON log lines for a terminal: time, level, message, fields on one line, and below it an error with each line
 * of its stack. A line of the access log is its route, status and milliseconds. Text that is not JSON stays as it is.
 */
export function createLogFormatter({ isColored }: { isColored: boolean }): LogFormatter {
  const options = { translateTime: 'SYS:HH:MM:ss', ignore: 'service', singleLine: true, colorize: isColored }
  const format: LogFormatter = prettyFactory(options)
  const formatRequest: LogFormatter = prettyFactory({
    ...options,
    ignore: 'service,method,route,status,ms',
    messageFormat: describeRequest,
  })
  return (line) => (isRequest(line) ? formatRequest(line) : format(line))
}

/** Of the gateway; the services' lines for debugging have a path and no route. */
function isRequest(line: string): boolean {
  return line.includes('"msg":"request"') && line.includes('"route":')
}

function describeRequest({ method, route, status, ms }: Record<string, unknown>): string {
  const target = String(route).startsWith(`${String(method)} `) ? String(route) : `${String(method)} ${String(route)}`
  return `${target} ${String(status)} ${String(ms)} ms`
}
