import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { freePort, isRunning, listTree } from '@gatehouse/local-servers'
import { createDataFolder, documentedCommand, eventually, removeFolder } from '@gatehouse/test-kit'
import { findRunningInstance } from '../calls/operator-calls.ts'
import { readClusterConfig } from '../cluster/config.ts'
import { roles } from '../cluster/roles.ts'
import { postJson, readCommand, startDocumented, whenStarted } from './program.ts'
import { runArguments } from './run-arguments.ts'

const account = { username: 'alice', password: 'a long enough password' }
const oneOfEach = roles.flatMap((role) => [`--${role}`, '1'])

describe('npm run cluster', () => {
  let folder: string
  let cluster: Awaited<ReturnType<typeof startCluster>> | undefined
  before(async () => {
    folder = await createDataFolder()
    await mkdir(join(folder, 'data'))
    await writeFile(join(folder, 'upstreams.yaml'), 'upstreams: []')
  })
  after(async () => {
    await cluster?.[Symbol.asyncDispose]()
    await removeFolder(folder)
  })

  async function startCluster(port: number, command = 'npm run cluster', previous = '') {
    const environment = { ...inData(), PORT: String(port), ENCRYPTION_SECRET_PREVIOUS: previous }
    const program = await whenStarted(startDocumented(`${command} -- ${oneOfEach.join(' ')}`, environment))
    return { ...program, url: `http://127.0.0.1:${port}`, members: listTree(program.pid) }
  }

  const inData = () => ({ GATEHOUSE_DATA: join(folder, 'data') })
  const gatehouse = (...args: string[]) => runArguments(args, inData())

  /** The one that the test before has left, or another one. */
  const running = async () => (cluster ??= await startCluster(await freePort()))

  it('answers on its port, exits with 0 and all its servers, and has the accounts at the next start', async () => {
    const port = await freePort()
    const previous = ['p'.repeat(40), 'q'.repeat(40)]
    const command = documentedCommand(
      'GATEHOUSE_UPSTREAMS=$PWD/upstreams.yaml GATEHOUSE_DATA=/tmp/stand PORT=8080 npm run cluster',
      { $PWD: folder, '/tmp/stand': join(folder, 'data'), '8080': String(port) },
    )
    await using first = await startCluster(port, command, previous.join('\n'))
    const running = await findRunningInstance(join(folder, 'data/cluster'))
    expect(running?.previousEncryptionSecrets, 'for `encrypt`').to.deep.equal(previous)
    expect(first.output.stdout).to.include(`PUBLIC_ORIGIN=http://localhost:${port} `)
    expect(first.output.stdout).to.include(`${first.url}/api/upstream-keys`)
    expect(first.output.stdout).to.match(
      /NATS_URL=nats:\/\/127\.0\.0\.1:\d+ .*\n +GATEHOUSE_UPSTREAMS=\S+upstreams.yaml\n/,
    )
    const registered = await postJson(`${first.url}/api/auth/register`, account)
    expect(registered.status).to.equal(201)
    const listed = await gatehouse('users', 'list')
    expect([listed.code, /alice .*admin/.test(listed.output)], listed.errors).to.deep.equal([0, true])
    const checked = await gatehouse('check')
    const looked = ['database', 'bus', 'cache'].filter((server) => new RegExp(`ok +${server}`).test(checked.output))
    expect([checked.code, looked], checked.output).to.deep.equal([0, ['database', 'bus', 'cache']])
    expect(checked.output).to.match(/ok +configuration +a cluster in /)

    first.signal('SIGINT')

    expect(await first.exited).to.include({ code: 0, stderr: '' })
    await eventually('nothing of it runs', () => !first.members.some(isRunning))
    const portsOf = ({ output }: typeof first) =>
      [...output.stdout.matchAll(/(postgres|nats|redis) +127\.0\.0\.1:(\d+)/g)].map(
        ([, name, port]) => `${name} ${port}`,
      )
    expect(portsOf(first)).to.have.length(3)
    const restored = await runArguments(['restore', join(folder, 'no-archive')], {
      GATEHOUSE_DATA: join(folder, 'data/cluster'),
    })
    expect(restored.errors).to.match(/^cannot read .*no-archive/m)
    const next = (cluster = await startCluster(port))
    const { previousEncryptionSecrets } = (await findRunningInstance(join(folder, 'data/cluster')))!
    expect(previousEncryptionSecrets).to.deep.equal([])
    expect((await postJson(`${next.url}/api/auth/login`, account)).status).to.equal(200)
    expect(portsOf(next)).to.deep.equal(portsOf(first))
    expect(next.output.stdout).to.match(/^ +GATEHOUSE_UPSTREAMS=none$/m)
  })

  it('tells of a process that ended, in JSON where no terminal reads, and starts it again', async () => {
    const { output, url, waitForOutput } = await running()
    const [, pid] = /identity-0 .*\(process (\d+)\)/.exec(output.stdout) ?? []

    process.kill(Number(pid), 'SIGKILL')

    await waitForOutput(/identity-0 ended with SIGKILL: it is started again/)
    const line = output.stdout.split('\n').find((text) => text.includes('ended with SIGKILL'))
    expect(JSON.parse(line!)).to.include({ process: 'identity-0', level: 'warn' })
    await waitForOutput(/identity-0 is up again \(process \d+\)/)
    const info = async () => (await fetch(`${url}/api/instance/info`)).status
    await eventually('it answers again', async () => (await info()) === 200)
    const another = { ...account, username: 'bob' }
    expect((await postJson(`${url}/api/auth/register`, another)).status).to.equal(201)
  })

  it('leaves no process behind when it is killed', async () => {
    const { pid, signal } = await running()
    const members = listTree(pid)
    expect(members.length).to.be.greaterThan(8)

    signal('SIGKILL')

    await eventually('nothing of it runs', () => !members.some(isRunning))
  })

  it('names the flag that is wrong', () => {
    expect(() => readClusterConfig(['--gateway', 'many'], {})).to.throw(
      '--gateway: must be a whole number from 1 to 16',
    )
    expect(() => readClusterConfig(['--gateways', '2'], {})).to.throw('flags: only --identity N')
    const { args } = readCommand(
      documentedCommand('npm run cluster -- --gateway 2 --identity 3 --session-gateway 2', {
        '--gateway 2': '--gateway 4',
      }),
    )
    const replicas = { gateway: 4, identity: 3, 'session-gateway': 2, invite: 2 }
    expect(readClusterConfig(args, {}).replicas).to.include(replicas)
  })
})
