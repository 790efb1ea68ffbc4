import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { succeeds } from '../engine.ts'
import { callInstance, expectThat, firstOf, type Check, type Scene } from '../scene.ts'

export type Account = { username: string; password: string; token: string; id: string }

export async function register(scene: Pick<Scene, 'origins'>, prefix = 'user'): Promise<Account> {
  const username = `${prefix}_${randomUUID().slice(0, 8)}`
  const password = 'a password of a test'
  const { status, body } = await callInstance(scene, 'POST /api/auth/register', { body: { username, password } })
  expectThat(status === 201, `registering was answered with ${status}: ${body.error}`)
  return { username, password, token: body.token!, id: (body.user as { id: string }).id }
}

/** Gives the address of the file. */
export async function uploadPixel({ origins }: Pick<Scene, 'origins'>, token: string): Promise<URL> {
  const form = new FormData()
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  form.set('file', new Blob([Buffer.from(pixel, 'base64')], { type: 'image/png' }), 'pixel.png')
  const headers = { authorization: `Bearer ${token}` }
  const sent = await fetch(`${origins[0]}/api/uploads`, { method: 'POST', body: form, headers })
  const { url } = (await sent.json()) as { url: string }
  expectThat(sent.status === 201, `the upload was answered with ${sent.status}`)
  return new URL(url, origins[0])
}

/** Opens a socket and waits for `ready`; `closed` resolves with the code. */
export async function openSocket({ origins }: Pick<Scene, 'origins'>, token: string) {
  const socket = new WebSocket(`${origins[0]!.replace('http', 'ws')}/ws`)
  const closed = once(socket, 'close').then(([code]) => Number(code))
  socket.on('error', () => undefined)
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'auth', token }))
  const [message] = (await once(socket, 'message')) as [Buffer]
  const { type } = JSON.parse(message.toString()) as { type: string }
  expectThat(type === 'ready', `the first message was ${type}`)
  return { socket, closed }
}

const statusWith = async (scene: Scene, token: string): Promise<number> =>
  (await callInstance(scene, 'GET /api/users/@me', { token })).status

export function accountChecks(admin: Account): Check[] {
  return [
    {
      name: 'the command line in a container',
      async run(scene) {
        const listed = await scene.project.run('operator', 'users', 'list', '--json')
        const inGateway = scene.engine.run('exec', await firstOf(scene, 'gateway'), 'gatehouse', 'users', 'list')
        expectThat(!(await succeeds(inGateway)), 'the gateway acted as the operator')
        expectThat(listed.includes(admin.username), `it listed ${listed}`)
        return 'gatehouse users list names the admin, in the container of the operator only'
      },
    },
    {
      name: 'a session through the published port',
      async run(scene) {
        const user = await register(scene)
        const { token, password } = user
        const body = { currentPassword: password, newPassword: 'another password of a test' }
        const changed = await callInstance(scene, 'POST /api/users/@me/change-password', { token, body })
        expectThat(changed.status === 200, `change-password was answered with ${changed.status}`)
        expectThat((await statusWith(scene, token)) === 401, 'the token before the change is accepted')
        const leave = { username: user.username, password: body.newPassword }
        const deleted = await callInstance(scene, 'DELETE /api/users/@me', { token: changed.body.token, body: leave })
        expectThat(deleted.status === 200, `the deletion was answered with ${deleted.status}`)
        expectThat(
          (await statusWith(scene, changed.body.token!)) === 401,
          'the token of the deleted account is accepted',
        )
        return 'registered, changed the password, deleted; old tokens 401'
      },
    },
    {
      name: "an admin's reset and deletion close sockets",
      async run(scene) {
        const user = await register(scene)
        const first = await openSocket(scene, user.token)
        const { status, body } = await callInstance(scene, `POST /api/admin/users/${user.id}/reset-password`, {
          token: admin.token,
        })
        expectThat(status === 200, `the reset was answered with ${status}`)
        const login = { username: user.username, password: body.temporaryPassword }
        const again = await callInstance(scene, 'POST /api/auth/login', { body: login })
        const second = await openSocket(scene, again.body.token!)
        await callInstance(scene, `DELETE /api/admin/users/${user.id}`, { token: admin.token })
        const codes = [await first.closed, await second.closed]
        expectThat(codes.join() === '4010,4011', `they were closed with ${codes.join()}`)
        return '4010 and 4011'
      },
    },
  ]
}
