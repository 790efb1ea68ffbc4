import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTokenKey, signToken } from '@gatehouse/auth'
import { startRedis } from '@gatehouse/test-kit'
import { startChild } from './gateway/child.ts'
import { driveRound, warmUp } from './gateway/drive.ts'
import { ratioLine, type Benchmark } from './report.ts'
import { measureInRounds } from './rounds.ts'

const usualRounds = 12
const seconds = 1.2
const path = '/api/spaces/7'
const secrets = { JWT_SECRET: 'j'.repeat(32), INTERNAL_SECRET: 'i'.repeat(32) }

/** GET through the gateway to an upstream: token, account state, limit by account, signed statement. */
export const benchmark: Benchmark = async (run) => {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  opening.defer(() => rm(folder, { recursive: true }))
  const redis = opening.use(await startRedis())
  const service = opening.use(await startChild('upstream.ts', {}))
  const origin = `http://127.0.0.1:${service.port}`
  const file = join(folder, 'upstreams.json')
  const routes = [{ prefix: '/api/spaces', access: 'user', limit: { requests: 1_000_000, seconds: 60 } }]
  await writeFile(file, JSON.stringify({ upstreams: [{ name: 'chat', origins: [origin], routes }] }))
  const settings = { ...secrets, UPSTREAM: origin, REDIS: redis.url, UPSTREAMS_FILE: file }
  const load = opening.use(await startChild('load.ts', {}))
  const ours = { name: 'Gatehouse', child: opening.use(await startChild('ours.ts', settings)) }
  const bare = { name: 'bare undici, no check', child: opening.use(await startChild('bare.ts', settings)) }

  const claims = { userId: '42', username: 'ada' }
  const token = signToken(createTokenKey(secrets.JWT_SECRET), claims, { expiresIn: '1h', now: Date.now() })
  const order = { token, seconds, path }
  await warmUp(load, [ours, bare], order)
  const rounds = await measureInRounds(run.rounds(usualRounds), {
    ours: () => driveRound(load, ours, order),
    bare: () => driveRound(load, bare, order),
  })
  return [
    ratioLine({
      what: 'forwarding to an upstream',
      ours: rounds.ours.map(({ perSecond }) => perSecond),
      peer: { name: 'bare undici', values: rounds.bare.map(({ perSecond }) => perSecond) },
      format: (rate) => `${rate.toFixed(0)} req/s`,
      bound: { atLeast: 0.65 },
    }),
  ]
}
