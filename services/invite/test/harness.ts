import {
  createServiceClient,
  insertUser,
  openTestResources,
  testCallerKeys,
  type TestRequest,
} from '@gatehouse/test-kit'
import type { InviteReply } from '@gatehouse/contracts'
import type { User } from '@gatehouse/domain'
import { lockActiveInvite, recordRedemption } from '@gatehouse/invites'
import { systemRandom, type Random } from '@gatehouse/runtime'
import { movableClock } from '@gatehouse/test-kit/time'
import { startInvite } from '../src/service.ts'

export const origin = 'https://chat.example'

export type Answer<Body = Record<string, unknown>> = { status: number; body: Body }
export type InviteHarness = Awaited<ReturnType<typeof startInviteHarness>>

/** The invite service on a database of its own, with a clock that the test moves and an admin who calls it. */
export async function startInviteHarness() {
  await using opening = new AsyncDisposableStack()
  const tokens: string[] = []
  const random: Random = { ...systemRandom, bytes: (count) => nextBytes(tokens, count) }
  const clock = movableClock(Date.UTC(2026, 0, 1))
  const test = opening.use(await openTestResources({ clock, random, service: 'invite' }))
  const { resources, ownerOrm: orm } = test
  const config = {
    host: '127.0.0.1',
    port: 0,
    drainMs: 1_000,
    callerKeys: testCallerKeys,
    publicAddress: { origin, domain: 'chat.example' },
  }
  const service = opening.use(await startInvite(config, resources))
  const client = createServiceClient({ name: 'invite', url: service.url, clock })
  const admin = await insertUser({ orm }, { username: 'founder', isAdmin: true })
  const asAdmin = { id: admin.id, username: admin.username, isAdmin: true }
  const open = opening.move()

  /** As the admin unless the request names another caller; `as: undefined` is no caller. */
  async function call<Body = Record<string, unknown>>(
    method: string,
    path: string,
    request: TestRequest = {},
  ): Promise<Answer<Body>> {
    const { status, body } = await client<Body>(method, path, { as: asAdmin, ...request })
    return { status, body }
  }

  return {
    orm,
    clock,
    random,
    deps: { ...resources, config },
    lines: test.lines,
    url: service.url,
    admin: asAdmin,
    /** The next tokens, in this order; afterwards they are random. */
    tokens,
    call,
    /** Creates an invite over HTTP. */
    async buildInvite(
      overrides: Partial<Pick<InviteReply, 'name' | 'maxUses' | 'expiresAt'>> = {},
    ): Promise<InviteReply> {
      const body = { name: 'friends', maxUses: null, expiresAt: null, ...overrides }
      return (await call<InviteReply>('POST', '/api/admin/invites', { body })).body
    },
    /** Registers an account by an invite, in the steps of identity. */
    async redeem(
      token: string,
      options: { username?: string; whileInserting?: () => Promise<unknown> } = {},
    ): Promise<User> {
      return await orm.em.fork().transactional(async (em) => {
        const invite = await lockActiveInvite(em, { token, now: clock.now() })
        const user = await insertUser({ em }, options.username === undefined ? {} : { username: options.username })
        await options.whileInserting?.()
        await recordRedemption(em, { invite, user, now: clock.now() })
        return user
      })
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

function nextBytes(tokens: string[], count: number): Buffer {
  const next = tokens.shift()
  return next === undefined ? systemRandom.bytes(count) : Buffer.from(next, 'base64url')
}
