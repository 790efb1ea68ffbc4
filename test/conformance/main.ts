// npm run conformance -- <origin>: the rows of the federation pages that can be checked from outside. docs/federation/conformance.md
import { parseArgs } from 'node:util'
import { nameOfRow } from './page-rows.ts'
import { checkConformance, type Options, type Result } from './run.ts'

const usage = `usage: npm run conformance -- <origin> [--generation 1|2] [--admin TOKEN] [--user NAME:PASSWORD]
                      [--peer-origin ORIGIN] [--peer-port PORT] [--peer-host ADDRESS]
The reference peer listens on this machine and has to be reached by the origin (docs/federation/conformance.md).`

const options = readOptions()
if (!options) {
  process.stderr.write(`${usage}\n`)
  process.exit(2)
}
try {
  const results = await checkConformance(options)
  process.stdout.write(`${tableOf(results)}\n`)
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
        ...{ generation: { ...text, default: '2' }, admin: text, user: text },
        ...{ 'peer-origin': text, 'peer-host': text, 'peer-port': text },
      },
    })
    const [target = '', ...others] = positionals
    const generation = Number(values.generation)
    const [username = '', password = ''] = values.user?.split(/:(.*)/s) ?? []
    if (others.length > 0 || (generation !== 1 && generation !== 2)) return null
    return {
      ...{ origin: new URL(target).origin, generation, adminToken: values.admin },
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

function tableOf(results: readonly Result[]): string {
  const cell = (text: string) => text.replaceAll('|', '\\|')
  const lines = results.map(({ name, rows, outcome, seen }) => {
    const cells = [outcome, name, rows.map(nameOfRow).join('; '), seen]
    return `| ${cells.map(cell).join(' | ')} |`
  })
  const count = (wanted: Result['outcome']) => results.filter(({ outcome }) => outcome === wanted).length
  const counts = (['passed', 'failed', 'not applicable'] as const).map((wanted) => `${count(wanted)} ${wanted}`)
  return ['| result | check | rows | seen |', '| --- | --- | --- | --- |', ...lines, '', counts.join(', ')].join('\n')
}
