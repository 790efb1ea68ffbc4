import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { freePort, isRunning, listTree } from '@gatehouse/local-servers'
import { eventually } from '@gatehouse/test-kit'
import { findRunningInstance } from '../calls/operator-calls.ts'
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

  async function startCluster(port: number, given: Record<string, string> = {}) {
    const environment = { GATEHOUSE_DATA: folder, PORT: String(port), ...given }
    const program = startProgram('deploy/cluster/main.ts', environment, oneOfEach)
    await program.waitForOutput(/Ctrl-C stops all of it/)
    return { ...program, url: `http://127.0.0.1:${port}`, members: listTree(program.pid) }
  }

  it('answers on its port, exits with 0 and all its servers, and has the accounts at the next start', async () => {
    const port = await freePort()
    const previous = ['p'.repeat(40), 'q'.repeat(40)]
    await using first = await startCluster(port, { ENCRYPTION_SECRET_PREVIOUS: previous.join('\n') })
    const running = await findRunningInstance(join(folder, 'cluster'))
    expect(running?.previousEncryptionSecrets, 'for `encrypt`').to.deep.equal(previous)
    expect(first.output.stdout).to.include(`PUBLIC_ORIGIN=http://localhost:${port} `)
    expect(first.output.stdout).to.include(`${first.url}/api/upstream-keys`)
    expect(first.output.stdout).to.match(/NATS_URL=nats:\/\/127\.0\.0\.1:\d+ .*\n +GATEHOUSE_UPSTREAMS=none\n/)
    const registered = await postJson(`${first.url}/api/auth/register`, account)
    expect(registered.status).to.equal(201)
    const gatehouse = (...args: string[]) => startProgram('deploy/cli/main.ts', { GATEHOUSE_DATA: folder }, args).exited
    const listed = await gatehouse('users', 'list')
    expect([listed.code, /alice .*admin/.test(listed.stdout)], listed.stderr).to.deep.equal([0, true])
    const checked = await gatehouse('check')
    const looked = ['database', 'bus', 'cache'].filter((server) => new RegExp(`ok +${server}`).test(checked.stdout))
    expect([checked.code, looked], checked.stdout).to.deep.equal([0, ['database', 'bus', 'cache']])
    expect(checked.stdout).to.match(/ok +configuration +a cluster in /)

    first.signal('SIGINT')

    expect(await first.exited).to.include({ code: 0, stderr: '' })
    await eventually('nothing of it runs', () => !first.members.some(isRunning))
    const portsOf = ({ output }: typeof first) =>
      [...output.stdout.matchAll(/(postgres|nats|redis) +127\.0\.0\.1:(\d+)/g)].map(
        ([, name, port]) => `${name} ${port}`,
      )
    expect(portsOf(first)).to.have.length(3)
    const restored = await startProgram('deploy/cli/main.ts', { GATEHOUSE_DATA: join(folder, 'cluster') }, [
      ...['restore', join(folder, 'no-archive')],
    ]).exited
    expect(restored.stderr).to.match(/^cannot read .*no-archive/m)
    await using next = await startCluster(port)
    const { previousEncryptionSecrets } = (await findRunningInstance(join(folder, 'cluster')))!
    expect(previousEncryptionSecrets).to.deep.equal([])
    expect((await postJson(`${next.url}/api/auth/login`, account)).status).to.equal(200)
    expect(portsOf(next)).to.deep.equal(portsOf(first))
  })

  it('tells of a process that ended, in JSON where no terminal reads, and starts it again', async () => {
    await using cluster = await startCluster(await freePort())
    const [, pid] = /identity-0 .*\(process (\d+)\)/.exec(cluster.output.stdout) ?? []

    process.kill(Number(pid), 'SIGKILL')

    await cluster.waitForOutput(/identity-0 ended with SIGKILL: it is started again/)
    const line = cluster.output.stdout.split('\n').find((text) => text.includes('ended with SIGKILL'))
    expect(JSON.parse(line!)).to.include({ process: 'identity-0', level: 'warn' })
    await cluster.waitForOutput(/identity-0 is up again \(process \d+\)/)
    const info = async () => (await fetch(`${cluster.url}/api/instance/info`)).status
    await eventually('it answers again', async () => (await info()) === 200, 60_000)
    expect((await postJson(`${cluster.url}/api/auth/register`, account)).status).to.equal(201)
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
