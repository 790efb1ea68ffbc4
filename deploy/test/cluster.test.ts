import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { freePort, isRunning, listTree } from '@gatehouse/local-servers'
import { eventually } from '@gatehouse/test-kit'
import { readClusterConfig } from '../cluster/config.ts'
import { roles } from '../cluster/roles.ts'
import { postJson, startProgram } from './program.ts'

const account = { username: 'alice', password: 'a long enough password' }
const oneOfEach = roles.flatMap((role) => [`--${role}`, '1'])

describe('npm run cluster', function () {
  this.timeout(250_000)
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-cluster-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))

  async function startCluster(port: number) {
    const program = startProgram('deploy/cluster/main.ts', { GATEHOUSE_DATA: folder, PORT: String(port) }, oneOfEach)
    await program.waitForOutput(/Ctrl-C stops all of it/)
    return { ...program, url: `http://127.0.0.1:${port}`, members: listTree(program.pid) }
  }

  it('answers on its port, exits with 0 and all its servers, and has the accounts at the next start', async () => {
    const port = await freePort()
    await using first = await startCluster(port)
    const registered = await postJson(`${first.url}/api/auth/register`, account)
    expect(registered.status).to.equal(201)

    first.signal('SIGINT')

    expect(await first.exited).to.include({ code: 0, stderr: '' })
    await eventually('nothing of it runs', () => !first.members.some(isRunning), 20_000)
    await using next = await startCluster(port)
    expect((await postJson(`${next.url}/api/auth/login`, account)).status).to.equal(200)
  })

  it('leaves no process behind when it is killed', async () => {
    await using cluster = await startCluster(await freePort())
    expect(cluster.members.length).to.be.greaterThan(8)

    cluster.signal('SIGKILL')

    await eventually('nothing of it runs', () => !cluster.members.some(isRunning), 60_000)
  })

  it('names the flag that is wrong', () => {
    expect(() => readClusterConfig(['--gateway', 'many'], {})).to.throw(
      '--gateway: must be a whole number from 1 to 16',
    )
    expect(() => readClusterConfig(['--gateways', '2'], {})).to.throw('flags: only --identity N')
    expect(readClusterConfig(['--identity', '3'], {}).replicas).to.include({ identity: 3, gateway: 2 })
  })
})
