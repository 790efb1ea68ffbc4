import { expect } from 'chai'
import { commandLineOf, listTree } from '@gatehouse/local-servers'
import { answered, eventually } from '@gatehouse/test-kit'
import { fromNetwork, expectSocketsClosed, startDrained } from './drain-instance.ts'
import { postJson } from './program.ts'

const account = { username: 'ada', password: 'a long enough password' }
const waiting = 24

describe('npm start, when it is stopped under load', () => {
  let instance: Awaited<ReturnType<typeof startDrained>>
  let hashing = 0

  /** Logins of which one is with the hashing process, which is paused, and the others wait for it. */
  async function startLogins(): Promise<Promise<number | string>[]> {
    instance = await startDrained()
    await answered(postJson(`${instance.url}/api/auth/register`, account))
    hashing = listTree(instance.pid).find((pid) => commandLineOf(pid).includes('hashing-process'))!
    process.kill(hashing, 'SIGSTOP')
    const logins = Array.from({ length: waiting }, async (_, index) => {
      const login = postJson(`${instance.url}/api/auth/login`, account, fromNetwork(index))
      return await login.then(
        ({ status }) => status,
        () => 'lost',
      )
    })
    const metrics = `${await instance.waitForOutput(/http:\S+(?=\/metrics)/)}/metrics`
    const areWaiting = async () =>
      (await (await fetch(metrics)).text()).includes(`\ngatehouse_hashing_waiting ${waiting - 1}\n`)
    await eventually('they wait', areWaiting)
    instance.signal('SIGTERM')
    await instance.waitForOutput(/stopping/)
    return logins
  }

  /** Also when the instance has ended: a paused process does not see that, and keeps the output open. */
  function resumeHashing(): void {
    if (commandLineOf(hashing).includes('hashing-process')) process.kill(hashing, 'SIGCONT')
  }

  afterEach(async () => {
    resumeHashing()
    await instance[Symbol.asyncDispose]()
  })

  it('what was accepted is answered: logins that wait for hashing too', async () => {
    const logins = await startLogins()
    resumeHashing()
    const statuses = await Promise.all(logins)

    // A machine that hashes slower than the drain allows refuses the rest.
    for (const status of statuses) expect(status).to.be.oneOf([200, 503])
    expect(statuses.filter((status) => status === 200)).to.have.length.above(2)
    expect((await instance.exited).code).to.equal(0)
  })

  it('a second signal ends it at once', async () => {
    const logins = await startLogins()
    // One that comes too soon is taken for the same signal, delivered twice.
    await eventually('it has ended', () => {
      instance.signal('SIGTERM')
      return instance.child.exitCode !== null
    })
    resumeHashing()

    expect((await instance.exited).code).to.equal(143)
    expect(await Promise.all(logins)).to.include('lost')
  })
})

describe('npm start, when it is stopped under load', () => {
  it('Server going away: 1012, spread over a drain period: all of 300 sockets', () => expectSocketsClosed(300))
})
