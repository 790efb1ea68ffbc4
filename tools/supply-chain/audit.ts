// npm run audit: 1 on advisories of severity high and above, 2 when the registry does not answer.
import { spawnSync } from 'node:child_process'
import { root } from '../setup/project.js'

const limitMs = 60_000

type Report = {
  vulnerabilities?: Record<string, { severity?: string; range?: string; fixAvailable?: unknown }>
  metadata?: { vulnerabilities?: Record<string, number> }
  message?: string
  error?: { summary?: string }
}

const failing = ['high', 'critical']

/** Without an answer it is neither a pass nor an advisory. */
const exitCodes = { clean: 0, advisories: 1, unanswered: 2 } as const

/** The registry's error takes the place of the report. */
export function readAudit(output: string): { outcome: keyof typeof exitCodes; lines: string[] } {
  const report = parse(output)
  if (!report?.metadata?.vulnerabilities || !report.vulnerabilities) {
    const reason = report?.message ?? report?.error?.summary ?? 'no report'
    const line = `the registry does not answer npm audit (${reason}): whether advisories are known was not checked`
    return { outcome: 'unanswered', lines: [line] }
  }
  const advisories = Object.entries(report.vulnerabilities).filter(([, { severity = '' }]) =>
    failing.includes(severity),
  )
  if (advisories.length === 0) return { outcome: 'clean', lines: ['no known advisories of severity high or above'] }
  const lines = advisories.map(([name, { severity, range, fixAvailable }]) => {
    const remedy = fixAvailable ? 'a fixed version exists' : 'no fixed version yet'
    return `${severity}: ${name} ${range ?? ''} (${remedy})`
  })
  return { outcome: 'advisories', lines }
}

function parse(output: string): Report | undefined {
  try {
    return JSON.parse(output) as Report
  } catch {
    return undefined
  }
}

if (import.meta.main) {
  const { error, stdout } = spawnSync('npm', ['audit', '--json'], { cwd: root, encoding: 'utf8', timeout: limitMs })
  const { outcome, lines } = readAudit(error ? '' : stdout)
  for (const line of lines) console.error(`npm run audit: ${line}`)
  process.exitCode = exitCodes[outcome]
}
