// A chat behind Gatehouse's gateway: docs/integrate/example-chat.md.
import { connectUpstream, createCallerVerifier } from '@gatehouse/upstream'
import pg from 'pg'
import { z } from 'zod'
import { createApp } from './app.ts'
import { openLive } from './live.ts'
import { createStore } from './store.ts'

const config = z
  .object({
    HOST: z.string().default('127.0.0.1'),
    PORT: z.coerce.number().default(9000),
    DATABASE_URL: z.string(),
    NATS_URL: z.string(),
    /** Of Gatehouse: who states the callers, and where the keys are, unless KEYS_URL says so. */
    PUBLIC_ORIGIN: z.string(),
    KEYS_URL: z.string().optional(),
  })
  .parse(process.env)

const name = 'chat'
const report = (error: unknown) => {
  const err = error instanceof Error ? error.stack : error
  process.stderr.write(`${JSON.stringify({ level: 'error', service: name, err })}\n`)
}
const pool = new pg.Pool({ connectionString: config.DATABASE_URL, max: 5, application_name: name })
pool.on('error', report) // of a connection that nobody uses: the next one is opened anew
const store = createStore(pool)
const connection = await connectUpstream({ natsUrl: config.NATS_URL, name, onError: report })
const live = openLive(connection, store)
const keysUrl = config.KEYS_URL ?? `${config.PUBLIC_ORIGIN}/api/upstream-keys`
const verifier = createCallerVerifier({ name, origin: config.PUBLIC_ORIGIN, keysUrl })
const server = createApp({ store, live, verifier, report }).listen(config.PORT, config.HOST)

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    server.close(() => void connection.close().then(() => process.exit(0), report))
  })
}
