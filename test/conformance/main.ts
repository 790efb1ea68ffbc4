// npm run conformance -- <origin>: the rows of the federation protocol that can be checked from outside. docs/federation/conformance.md
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { dataFolder } from '../../tools/setup/project.js'
import { checkConformance, type Options, type Result } from './run.ts'

const usage = `usage: npm run conformance -- <origin> [--generation 1|2] [--admin TOKEN] [--user NAME:PASSWORD]
                      [--peer-origin ORIGIN] [--peer-port PORT] [--peer-host ADDRESS]
The reference peer listens on this machine, and the origin must be able to reach it (docs/federation/conformance.md).`

const options = readOptions()
if (!options) {
  process.stderr.write(`${usage}\n`)
  process.exit(2)
}
try {
  const results = await checkConformance(options)
  const table = tableOf(results)
  process.stdout.write(`${table}\n`)
  keepTable(table, options)
  process.exitCode = results.some(({ outcome }) => outcome === 'failed') ? 1 : 0
} catch (error) {
  const { message, cause } = error as Error
  process.stderr.write(cause instanceof Error ? `${options.origin}: ${message}: ${cause.message}\n` : `${message}\n`)
  process.exitCode = 2
}

function readOptions(): Options | null {
  try {
    const text = { type: 'string' } as const
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        generation: { ...text, default: '2' },
        admin: text,
        user: text,
        'peer-origin': text,
        'peer-host': text,
        'peer-port': text,
      },
    })
    const [target = '', ...others] = positionals
    const generation = Number(values.generation)
    const [username = '', password = ''] = values.user?.split(/:(.*)/s) ?? []
    if (others.length > 0 || (generation !== 1 && generation !== 2)) return null
    return {
      origin: new URL(target).origin,
      generation,
      adminToken: values.admin,
      ...(values.user !== undefined && { user: { username, password } }),
      peer: {
        ...(values['peer-origin'] && { origin: new URL(values['peer-origin']).origin }),
        ...(values['peer-host'] && { host: values['peer-host'] }),
        ...(values['peer-port'] && { port: Number(values['peer-port']) }),
      },
    }
  } catch {
    return null
  }
}

/** Writes the page of the last run, `conformance.md` in the data folder. */
function keepTable(table: string, { origin, generation }: Options): void {
  mkdirSync(dataFolder(), { recursive: true })
  const title = `# Conformance of ${origin}, generation ${generation}`
  writeFileSync(join(dataFolder(), 'conformance.md'), `${title}\n\n${table}\n`)
}

function tableOf(results: readonly Result[]): string {
  const cell = (text: string) => text.replaceAll('|', '\\|')
  const lines = results.map(({ name, rows, outcome, observation }) => {
    const cells = [outcome, name, rows.join('; '), observation]
    return `| ${cells.map(cell).join(' | ')} |`
  })
  const count = (kind: Result['outcome']) => results.filter(({ outcome }) => outcome === kind).length
  const counts = (['passed', 'failed', 'not applicable'] as const).map((kind) => `${count(kind)} ${kind}`)
  return ['| result | check | rows | seen |', '| --- | --- | --- | --- |', ...lines, '', counts.join(', ')].join('\n')
}
