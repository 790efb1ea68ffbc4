import { prettyFactory } from 'pino-pretty'

type LogFormatter = (line: string) => string

/** For a terminal. Text that is not JSON stays as it is. */
export function createLogFormatter({ isColored }: { isColored: boolean }): LogFormatter {
  const options = { translateTime: 'SYS:HH:MM:ss', ignore: 'service', singleLine: true, colorize: isColored }
  const format: LogFormatter = prettyFactory(options)
  const ofRequest = { ignore: 'service,method,route,status,ms', messageFormat: describeRequest }
  const formatRequest: LogFormatter = prettyFactory({ ...options, ...ofRequest })
  return (line) => (isRequest(line) ? formatRequest(line) : format(line))
}

/** Lines of services have no route. */
const isRequest = (line: string): boolean => line.includes('"msg":"request"') && line.includes('"route":')

function describeRequest({ method, route, status, ms }: Record<string, unknown>): string {
  const target = String(route).startsWith(`${String(method)} `) ? String(route) : `${String(method)} ${String(route)}`
  return `${target} ${String(status)} ${String(ms)} ms`
}
