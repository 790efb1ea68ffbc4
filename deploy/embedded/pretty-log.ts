import { prettyFactory } from 'pino-pretty'

/**
 * Formats JSON log lines for a terminal: time, level, message, fields on one line, and below it an error with each line
 * of its stack. Text that is not JSON stays as it is.
 */
export function createLogFormatter({ isColored }: { isColored: boolean }): (line: string) => string {
  return prettyFactory({ translateTime: 'SYS:HH:MM:ss', ignore: 'service', singleLine: true, colorize: isColored })
}
