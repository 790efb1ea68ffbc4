import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../../..')

/**
 * A command as a page of the documentation has it, with what this test has in the place of names of the page. The test
 * runs what this gives: test/docs.test.ts takes the commands of the pages that are run from the calls. Throws where the
 * command has no such name.
 */
export function documentedCommand(command: string, names: Readonly<Record<string, string>> = {}): string {
  const missing = Object.keys(names).filter((name) => !command.includes(name))
  if (missing.length > 0) throw new Error(`no ${missing.join(', ')} in the command: ${command}`)
  const literals = Object.keys(names).map((name) => name.replaceAll(/[$.*+?^()[\]{}|\\]/g, '\\$&'))
  if (literals.length === 0) return command
  return command.replaceAll(new RegExp(literals.join('|'), 'g'), (name) => names[name]!)
}

/** The block of a page behind `<!-- name -->`, to be run whole, as `documentedCommand`. Throws where there is none. */
export function documentedScript(page: string, name: string): string {
  const text = readFileSync(resolve(root, page), 'utf8')
  const [, script] = text.split(`<!-- ${name} -->`)[1]?.split(/^```\w*\n/m) ?? []
  if (script === undefined) throw new Error(`${page} has no script ${name}`)
  return script
}
