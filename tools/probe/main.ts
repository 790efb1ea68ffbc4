// npm run probe -- <origin> [<origin> …]: how long a revoked session goes on working, seen from outside. docs/explain/security.md.
import { parseArgs } from 'node:util'
import { betterAuth, gatehouse } from './adapters.ts'
import { probe, type Result } from './probe.ts'

const adapters = { gatehouse, 'better-auth': betterAuth }
const usage = `usage: npm run probe -- <origin> [<origin> …] [--server ${Object.keys(adapters).join('|')}] [--user NAME:PASSWORD] [--rounds 2]
The first origin revokes; all of them are asked. Without --user an account is registered. Limits allow five rounds in 15 minutes.`

const options = readOptions()
if (!options) {
  console.error(usage)
  process.exit(2)
}
try {
  const results = await probe({ ...options, watchMs: 3_000 })
  for (const result of results) print(result)
  const isStale = ({ accepted, messagesAccepted, lastClosedMs }: Result) =>
    accepted + messagesAccepted > 0 || lastClosedMs === null
  process.exitCode = results.some(isStale) ? 1 : 0
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 2
}

function readOptions() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        server: { type: 'string', default: 'gatehouse' },
        user: { type: 'string' },
        rounds: { type: 'string', default: '2' },
      },
    })
    const [first, ...others] = positionals.map((text) => new URL(text).origin)
    const adapter = adapters[values.server as keyof typeof adapters]
    const rounds = Number(values.rounds)
    if (!first || !(adapter as unknown) || !Number.isInteger(rounds) || rounds < 1 || rounds > 100) return null
    const [username = '', password = ''] = values.user?.split(/:(.*)/s) ?? []
    const account = values.user === undefined ? undefined : { username, password }
    return { adapter: adapter(account), origins: [first, ...others] as const, rounds }
  } catch {
    return null
  }
}

function print({ act, requests, accepted, messages, messagesAccepted, sockets, ...last }: Result): void {
  const after = (ms: number | null) => `${ms === null ? 'stays open' : `${ms.toFixed(1)} ms`} after the answer`
  console.log(`${act}:`)
  console.log(`  requests   ${accepted} of ${requests} accepted, the last ${after(last.lastAcceptedMs)}`)
  if (messages > 0)
    console.log(`  messages   ${messagesAccepted} of ${messages} accepted, the last ${after(last.lastMessageMs)}`)
  if (sockets > 0) console.log(`  sockets    ${sockets}, closed ${after(last.lastClosedMs)}`)
}
