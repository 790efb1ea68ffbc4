import { once } from 'node:events'
import { expect } from 'chai'
import { endpoints } from '@gatehouse/contracts'
import { buildAccountState, eventually } from '@gatehouse/test-kit'
import { startHarness, type Harness } from './harness.ts'
import { openRaw } from './raw-client.ts'

type Held = { sendLastByte(): Promise<{ status: number; error: string | undefined }> }

/** Sends a request but for the last byte of its body, and waits until the gateway reads that body. */
async function holdLastByte(
  { port }: Harness,
  request: string,
  options: { token: string; body: object },
): Promise<Held> {
  const text = JSON.stringify(options.body)
  const socket = await openRaw(port)
  const head = [
    `${request} HTTP/1.1`,
    'Host: home.example',
    `Authorization: Bearer ${options.token}`,
    'Content-Type: application/json',
    `Content-Length: ${text.length}`,
    'Expect: 100-continue',
    'Connection: close',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  const [first] = (await once(socket, 'data')) as [Buffer]
  expect(first.toString()).to.match(/^HTTP\/1.1 100 /)
  socket.write(text.slice(0, -1))
  return {
    sendLastByte: async () => {
      socket.write(text.slice(-1))
      const [answer] = (await once(socket, 'data')) as [Buffer]
      const [answerHead = '', body = '{}'] = answer.toString().split('\r\n\r\n')
      socket.destroy()
      return { status: Number(answerHead.split(' ')[1]), error: (JSON.parse(body) as { error?: string }).error }
    },
  }
}

describe('A request whose body arrives after the token was revoked', () => {
  let harness: Harness
  beforeEach(async () => void (harness = await startHarness()))
  afterEach(() => harness[Symbol.asyncDispose]())

  /** A token that was accepted just before, so that its caller token would still be reused. */
  async function acceptedToken(state: { isAdmin?: boolean }): Promise<string> {
    const token = harness.member(state)
    const response = await fetch(`${harness.url}/api/users/@me`, { headers: { authorization: `Bearer ${token}` } })
    expect(response.status).to.equal(200)
    harness.stub.seen.length = 0
    return token
  }
  const changePassword = (state: object = {}) =>
    harness.accountStateCache.put(
      buildAccountState({ version: 2, passwordChangedAt: harness.clock.now() + 1_000, ...state }),
    )

  it('is refused: a role that an admin gives after a reset of his password', async () => {
    const token = await acceptedToken({ isAdmin: true })
    const held = await holdLastByte(harness, 'PATCH /api/admin/users/7/role', { token, body: { isAdmin: true } })
    await changePassword({ isAdmin: true })

    expect(await held.sendLastByte()).to.deep.equal({ status: 401, error: 'Token has been revoked' })
    expect(harness.stub.seen).to.have.length(0)
  })

  it('is refused: a password change after another one', async () => {
    const token = await acceptedToken({})
    const body = { newPassword: 'another one of mine' }
    const held = await holdLastByte(harness, 'POST /api/users/@me/change-password', { token, body })
    await changePassword()

    expect(await held.sendLastByte()).to.deep.equal({ status: 401, error: 'Token has been revoked' })
    expect(harness.stub.seen).to.have.length(0)
  })

  it('is refused: settings of an admin who is none any more', async () => {
    const token = await acceptedToken({ isAdmin: true })
    const held = await holdLastByte(harness, `PATCH ${endpoints.patchSettings.path}`, {
      token,
      body: { registrationOpen: true },
    })
    await harness.accountStateCache.put(buildAccountState({ version: 2, isAdmin: false }))

    expect(await held.sendLastByte()).to.deep.equal({ status: 403, error: 'Admin access required' })
    expect(harness.stub.seen).to.have.length(0)
  })

  it('is carried out when nothing has changed', async () => {
    const token = await acceptedToken({})
    const held = await holdLastByte(harness, 'PATCH /api/users/@me', { token, body: { bio: 'x' } })

    expect(await held.sendLastByte()).to.include({ status: 200 })
  })

  it('is refused also when it was revoked while the request waited for a connection to the service', async () => {
    await using small = await startHarness({ capacity: { connectionsPerReplica: 2 } })
    const authorization = `Bearer ${small.member()}`
    const { behave } = small.stub
    let respond: (() => void) | undefined
    small.stub.behave = (_request, response) => (respond = () => response.end('{}'))
    const ask = () =>
      fetch(`${small.url}/api/users/@me`, { method: 'PATCH', headers: { authorization }, body: '{"bio":"x"}' })
    const first = ask()
    await eventually('the first has reached the service', () => respond !== undefined)
    small.stub.behave = behave
    const second = ask()
    await eventually('the second waits', async () => (await small.metric('gatehouse_gateway_waiting_requests')) === 1)
    const at = small.clock.now() + 1_000
    await small.accountStateCache.put(buildAccountState({ version: 2, passwordChangedAt: at }))
    respond?.()

    expect((await first).status).to.equal(200)
    expect((await second).status).to.equal(401)
    expect(small.stub.seen).to.have.length(0)
  })
})
