// npm run audit: 1 on advisories of severity high and above, 2 when the registry does not answer.
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { exitCodes, readAudit } from './audit.ts'

const limitMs = 60_000

const root = resolve(import.meta.dirname, '../..')
const { error, stdout } = spawnSync('npm', ['audit', '--json'], { cwd: root, encoding: 'utf8', timeout: limitMs })
const { outcome, lines } = readAudit(error ? '' : stdout)
for (const line of lines) console.error(`npm run audit: ${line}`)
process.exitCode = exitCodes[outcome]
