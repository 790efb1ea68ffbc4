import { subscribe } from 'node:diagnostics_channel'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dataFolder } from '../setup/project.js'

/** Each is a list of statements with their values, one of each form. */
export const statementsFolder = (): string => join(dataFolder(), 'test-statements')

/** Before a run of all tests: what no code sends any more is not judged. */
export function forgetStatements(): void {
  rmSync(statementsFolder(), { recursive: true, force: true })
}

const frames = 40
const own = /node_modules|node:|libs\/database\/src|tools\/test-runner/

/** Writes, when the process ends, the statements that services have sent. Migrations, and what a test itself asks, are not among them. */
export function collectStatements(): void {
  const statements = new Map<string, string>()
  subscribe('gatehouse:statement', (message) => {
    const { user, text, form: withNumbers } = message as { user: string; text: string; form: string }
    const form = withoutCounts(withNumbers)
    if (user.startsWith('gatehouse_') && !statements.has(form) && !isOfTest()) statements.set(form, text)
  })
  process.on('exit', () => {
    if (statements.size === 0) return
    mkdirSync(statementsFolder(), { recursive: true })
    const name = `${Date.now()}-${process.pid}.json`
    writeFileSync(join(statementsFolder(), name), JSON.stringify([...statements.values()]))
  })
}

/** Lists of any length are one form. */
function withoutCounts(form: string): string {
  return form.replace(/\?(?:, \?)+/g, '?').replace(/\(\?\)(?:, \(\?\))+/g, '(?)')
}

/** The innermost frame outside the driver tells. Without one the statement came from a timer of the code. */
function isOfTest(): boolean {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = frames
  const stack = new Error().stack?.split('\n').slice(1) ?? []
  Error.stackTraceLimit = limit
  const caller = stack.find((frame) => frame.includes('file:') && !own.test(frame))
  return caller !== undefined && /\/tests?\/|\/test-kit\/|\.test\.ts|\/bench\//.test(caller)
}
