// better-auth as its documentation sets it up: PostgreSQL, e-mail and password, bearer tokens; bcrypt with our cost. No limits, as ours are out of the way.
import { createServer } from 'node:http'
import bcrypt from 'bcrypt'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { toNodeHandler } from 'better-auth/node'
import { bearer } from 'better-auth/plugins'
import pg from 'pg'

const { DATABASE_URL, SECRET, PORT } = process.env
const auth = betterAuth({
  database: new pg.Pool({ connectionString: DATABASE_URL, max: 10 }),
  secret: SECRET,
  baseURL: `http://127.0.0.1:${PORT}`,
  trustedOrigins: ['https://elsewhere.example'],
  emailAndPassword: {
    enabled: true,
    password: {
      hash: (password) => bcrypt.hash(password, 12),
      verify: ({ password, hash }) => bcrypt.compare(password, hash),
    },
  },
  plugins: [bearer()],
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
})
await (await getMigrations(auth.options)).runMigrations()
const server = createServer(toNodeHandler(auth))
server.keepAliveTimeout = 65_000
server.listen(Number(PORT), '127.0.0.1', () => process.send?.({ port: Number(PORT) }))
