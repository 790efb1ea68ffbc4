import { once } from 'node:events'
import { expect } from 'chai'
import { createDataFolder, eventually, removeFolder } from '@gatehouse/test-kit'
import { WebSocket } from 'ws'
import { databaseUrlOf } from '../../bench/embedded-instance.ts'
import { insertAccounts } from '../../test/revocation/accounts.ts'
import { startInstance } from './program.ts'

const jwtSecret = 'a secret of this test, which signs its tokens'
const socketsPerAccount = 50

/** A network for each client, because of the limits of each. */
export const fromNetwork = (index: number) => ({
  'x-forwarded-for': `10.${Math.floor(index / 256)}.${index % 256}.1`,
})

/** An instance on a data folder of its own, both of which go on dispose. */
export async function startDrained() {
  await using opening = new AsyncDisposableStack()
  const folder = await createDataFolder()
  opening.defer(() => removeFolder(folder))
  const environment = { TRUST_PROXY: 'loopback', HASHING_THREADS: '1', JWT_SECRET: jwtSecret }
  const instance = opening.use(await startInstance(folder, environment))
  const open = opening.move()
  return { ...instance, folder, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Expects that each of `count` sockets is closed with 1012, one after the other. */
export async function expectSocketsClosed(count: number): Promise<void> {
  await using instance = await startDrained()
  const accountCount = count / socketsPerAccount
  const { accounts } = await insertAccounts(await databaseUrlOf(instance.folder), jwtSecret, accountCount)
  const closures: { code: number; at: number }[] = []
  async function open(token: string, index: number): Promise<void> {
    const socket = new WebSocket(`${instance.url.replace('http', 'ws')}/ws`, { headers: fromNetwork(index) })
    socket.on('error', () => undefined)
    socket.on('close', (code) => closures.push({ code, at: performance.now() }))
    await once(socket, 'open')
    socket.send(JSON.stringify({ type: 'auth', token }))
    await once(socket, 'message')
  }
  for (let round = 0; round < socketsPerAccount; round += 1) {
    await Promise.all(accounts.map(({ token }, index) => open(token, index)))
  }
  instance.signal('SIGTERM')
  await eventually('all are closed', () => closures.length === count)

  const codes = new Map(closures.map(({ code }) => [code, closures.filter((one) => one.code === code).length]))
  expect(Object.fromEntries(codes)).to.deep.equal({ 1012: count })
  // Half of the 2 ms between two of them.
  expect(closures.at(-1)!.at - closures[0]!.at).to.be.above(count)
  expect((await instance.exited).code).to.equal(0)
}
