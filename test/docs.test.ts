import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  createDataFolder,
  documentedCommand,
  documentedScript,
  eventually,
  freePort,
  removeFolder,
} from '@gatehouse/test-kit'
import { programOf, startInstance } from '../deploy/test/program.ts'
import { runArguments } from '../deploy/test/run-arguments.ts'
import { openStand } from './stand.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const pages = globSync(['*.md', 'bench/*.md', 'docs/**/*.md', 'deploy/**/*.md', 'tools/**/*.md'], { cwd: root }).filter(
  (page) => page !== 'CHANGELOG.md',
)

const npmScripts = (JSON.parse(read('package.json')) as { scripts: object }).scripts

const program =
  /^(npm|sh|docker|kubectl|helm|curl|openssl|cp|install|echo|cd|skopeo|git|journalctl|sed|nats-server|python3|gatehouse)\s/

/** Lines of blocks that begin with a program, and what runs `gatehouse` in a sentence; without their comments. */
function commandsOf(text: string): string[] {
  const lines = text.replaceAll(/\\\n\s*/g, '').split('\n')
  let isFenced = false
  const blocks = lines.filter((line) => {
    if (line.startsWith('```')) isFenced = !isFenced
    return isFenced || line.startsWith('    ')
  })
  const inline = [...text.matchAll(/`(gatehouse [a-z-]+ [^`]+)`/g)].map(([, command = '']) => command)
  return [...blocks, ...inline]
    .map((line) => line.trim().replace(/\s{2,}\S.*$|\s+# .*$/, ''))
    .filter((line) => program.test(`${line.replace(/^([a-zA-Z_]+=(\$\(|\S+ ))*/, '')} `))
}

/** Run below, each by the test of its name. */
const run = {
  start: 'PORT=8080 PUBLIC_ORIGIN=https://chat.example npm start',
  beside: [
    'npm run --silent gatehouse -- --help',
    'npm run --silent gatehouse -- users list',
    'npm run --silent gatehouse -- users make-admin bob',
    'gatehouse users unsuspend <user>',
    'gatehouse users make-admin <user>',
    'gatehouse users recovery-link <user>',
    'gatehouse users list --deleted',
    'gatehouse invites suspend-users <id>',
    'gatehouse applications list',
    'gatehouse rotate-openid',
    'npm run --silent gatehouse -- backup monday.tar.gz',
    'npm run gatehouse -- backup /backups/monday.tar.gz --secrets /backups/monday.secrets --passphrase-file passphrase',
  ],
  stopped:
    'GATEHOUSE_DATA=/srv/elsewhere npm run gatehouse -- restore /backups/monday.tar.gz --secrets … --passphrase-file …',
  shell: [
    'openssl genpkey -algorithm ed25519 -out chat.pem',
    "openssl pkey -in chat.pem -pubout -outform DER | tail -c 32 | openssl base64 -A | tr '+/' '-_' | tr -d '='",
    'cp -r deploy/kubernetes/example deploy/kubernetes/my-instance',
    'sh deploy/make-secrets.sh deploy/kubernetes/my-instance/secrets',
    'sh deploy/make-secrets.sh my-instance',
    'sh deploy/make-secrets.sh',
    "echo 'PUBLIC_ORIGIN=https://chat.example' > .env",
    "echo 'IDENTITY_REPLICAS=2' >> .env",
  ],
}

/** Scripts that run long or on something that is not here: their program and a test import the function that does the work. */
const work: Record<string, string> = {
  example: 'startExample',
  'test:faults': 'runLong',
  'test:revocation': 'runSocketRevocations',
  'test:upgrade': 'runUpgrade',
  'test:simulation': 'replay',
  'test:mesh': 'runMesh',
  'test:soak': 'runSoak',
  'test:fuzz': 'runFuzz',
  probe: 'probe',
  conformance: 'checkConformance',
  'build:client': 'buildClient',
}

/** Of another machine, or with credentials: nothing here can run them. */
const notHere: [command: RegExp, reason: string][] = [
  [/^kubectl /, 'a cluster'],
  [/^journalctl /, 'a service of systemd'],
  [/^install -d .* -o 10001/, 'root makes a folder for the user of the containers'],
  [/^(skopeo|npm publish|helm push|git tag)/, 'credentials of a registry'],
  [/^docker (compose|build) |^npm run test:containers$/, 'Docker: npm run test:containers runs them'],
  [/^npm run format$/, 'it would write to this clone'],
]

const sources = globSync('{bench,deploy,gateway,libs,services,test,tools}/**/*.{ts,tsx}', {
  cwd: root,
  exclude: (path) => /(^|\/)(node_modules|dist)$/.test(path),
})

/** The texts with which the sources call a function. */
function callsOf(name: string): string[][] {
  const text = String.raw`\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|\`((?:\\.|[^\`\\])*)\`),?`
  const call = new RegExp(String.raw`\b${name}\(${text}(?:${text})?`, 'g')
  return sources.flatMap((file) => [...read(file).matchAll(call)].map(([, ...texts]) => unescaped(texts)))
}

/** Those that a call has, without their backslashes. */
const unescaped = (texts: readonly (string | undefined)[]): string[] =>
  texts.filter((one) => one !== undefined).map((one) => one.replaceAll(/\\(.)/g, '$1'))

/** `<file>#<function>` of each that a file imports from the project by its path. */
function importsOf(file: string): string[] {
  const imports = read(file).matchAll(/^import \{([^}]*)\} from '(\.[^']*)'/gm)
  return [...imports].flatMap(([, names = '', path = '']) =>
    names.split(',').map((name) => `${join(file, '..', path)}#${name.trim()}`),
  )
}

/** Whether a test, or the tests that a `*.test.ts` imports in a size, import the function from the file from which the script's program does. */
function isWorkTested(script: string, name: string): boolean {
  const [imported] = importsOf(programOf(script)).filter((one) => one.endsWith(`#${name}`))
  const tests = sources.filter((file) => /\.test\.tsx?$/.test(file))
  const sized = tests.flatMap(importsOf).flatMap((one) => /^(.*-tests\.ts)#/.exec(one)?.[1] ?? [])
  return imported !== undefined && [...tests, ...sized].some((file) => importsOf(file).includes(imported))
}

/** .ci/run has them as the pages have them, but for output. */
const ofCi = (): string[] =>
  [...read('.ci/run').matchAll(/^part \S+ (.*)$/gm)].map(([, command = '']) => command.replace('--silent ', ''))

describe('the commands of the docs', () => {
  let folder: string
  before(async () => void (folder = await createDataFolder()))
  after(() => removeFolder(folder))

  /** Paths are those of a folder of the test. */
  async function gatehouse(command: string, names: Record<string, string> = {}) {
    const [, words = ''] = /(?:-- |gatehouse )(?!-- )(.*)$/.exec(command.replace(/^.*gatehouse -- /, 'gatehouse '))!
    const args = words
      .split(' ')
      .map((word) => names[word] ?? word.replace(/^(\/backups\/)?(monday\.|passphrase)/, `${folder}/$2`))
    const GATEHOUSE_DATA = join(folder, /GATEHOUSE_DATA=\S*\/(\S+)/.exec(command)?.[1] ?? 'data')
    const { code, output, errors } = await runArguments(args, { GATEHOUSE_DATA })
    return { code, stdout: output, stderr: errors }
  }

  it('are run here, by another test, or named with the reason why not', () => {
    const here = [run.start, run.stopped, ...run.beside, ...run.shell]
    const elsewhere = callsOf('documentedCommand').map(([command = '']) => command)
    const scripts = callsOf('documentedScript').map(([page = '', name = '']) => documentedScript(page, name))
    const blocks = scripts.flatMap((script) => commandsOf(`\`\`\`\n${script}\`\`\``))
    const tested = Object.keys(work).filter((script) => isWorkTested(script, work[script]!))
    const ran = new Set([...here, ...elsewhere, ...blocks, ...ofCi()])
    const found = new Set(pages.flatMap((page) => commandsOf(read(page))))
    const isRun = (command: string) =>
      ran.has(command) || tested.includes(/^npm run ([a-z:]+)(?= |$)/.exec(command)?.[1] ?? '')

    expect(tested).to.have.members(Object.keys(work))
    const unknown = [...found].filter((command) => !isRun(command) && !notHere.some(([form]) => form.test(command)))
    expect(unknown).to.deep.equal([])
    const invented = [...here, ...elsewhere].filter((command) => !found.has(command))
    expect(invented, 'no page has them').to.deep.equal([])
    for (const [form] of notHere) {
      const isOfSome = [...found].some((command) => form.test(command) && !isRun(command))
      expect(isOfSome, `${form} is of no command`).to.equal(true)
    }
    for (const command of found) {
      const script = /npm run (?:--silent )?([a-z:-]+)/.exec(command)?.[1]
      if (script) expect(Object.keys(npmScripts), command).to.include(script)
    }
  })

  it('do as said beside a running instance and with a stopped one', async () => {
    const given = Object.fromEntries(
      [...run.start.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name, value]),
    )
    writeFileSync(join(folder, 'passphrase'), 'a passphrase\n')
    {
      await using _instance = await startInstance(join(folder, 'data'), { PUBLIC_ORIGIN: given.PUBLIC_ORIGIN! })
      expect((await gatehouse('gatehouse users create ada')).code).to.equal(0)
      expect((await gatehouse('gatehouse users create bob')).code).to.equal(0)
      expect((await gatehouse('gatehouse users suspend bob')).code).to.equal(0)
      const invite = await gatehouse('gatehouse invites create friends --json')
      const { id } = JSON.parse(invite.stdout) as { id: string }
      for (const command of run.beside) {
        // The second archive would replace the first.
        rmSync(join(folder, 'monday.tar.gz'), { force: true })
        const confirmed = command.includes('suspend-users') ? `${command} --yes` : command
        const { code, stderr } = await gatehouse(confirmed, { '<user>': 'bob', '<id>': id })
        expect(code, `${command}: ${stderr}`).to.equal(0)
      }
    }
    const { code, stderr } = await gatehouse(
      run.stopped
        .replace('--secrets …', '--secrets monday.secrets')
        .replace('--passphrase-file …', '--passphrase-file passphrase'),
    )
    expect(code, stderr).to.equal(0)
    await using restored = await startInstance(join(folder, 'elsewhere'))
    expect(await (await fetch(`${restored.url}/api/instance/info`)).json()).to.have.property('instanceId')
  })

  it('of a shell make the files that they name', () => {
    const clone = join(folder, 'clone')
    mkdirSync(clone)
    execFileSync('cp', ['-r', join(root, 'deploy'), clone])

    execFileSync('bash', ['-euo', 'pipefail', '-c', run.shell.join('\n')], { cwd: clone, stdio: 'pipe' })

    const made = (name: string): string => readFileSync(join(clone, name), 'utf8')
    expect(made('.env')).to.equal('PUBLIC_ORIGIN=https://chat.example\nIDENTITY_REPLICAS=2\n')
    for (const name of ['deploy/secrets', 'my-instance', 'deploy/kubernetes/my-instance/secrets'])
      expect(existsSync(join(clone, name, 'caller_keys')), name).to.equal(true)
  })

  it('of tutorials/chat-in-an-hour.md bring a room behind an instance, and those of a stand its replicas', async () => {
    await using stand = await openStand(join(folder, 'stand'))
    const { ports, run: shell, start, token, userId } = stand
    expect(readFileSync(join(folder, 'stand/upstreams.yaml'), 'utf8')).to.match(/key: [\w-]{43}\b/)
    const gateway = { '8080': ports.gateway }
    const asMember = { ...gateway, $token: token }
    const room = { PUBLIC_ORIGIN: `http://localhost:${ports.gateway}`, NATS_URL: `nats://127.0.0.1:${ports.nats}` }
    const answers = (command: string, status: number) =>
      eventually(`${status} to ${command}`, () => shell(command).startsWith(`HTTP/1.1 ${status} `))

    const asNobody = documentedCommand('curl -i http://localhost:8080/api/rooms/hall', gateway)
    const read = documentedCommand(
      'curl -i http://localhost:8080/api/rooms/hall -H "Authorization: Bearer $token"',
      asMember,
    )
    await answers(asNobody, 401)
    await answers(read, 503)

    const command = documentedCommand(
      'PUBLIC_ORIGIN=http://localhost:8080 NATS_URL=nats://127.0.0.1:4222 DATABASE=rooms.db KEY=rooms.pem python3 examples/chat-python/rooms.py',
      { ...gateway, '4222': ports.nats },
    )
    start(command, { PORT: ports.room })
    await answers(read, 200)
    await answers(documentedCommand('curl -i http://localhost:9100/api/rooms/hall', { '9100': ports.room }), 503)
    const people = documentedCommand(
      'curl http://localhost:8080/api/rooms/hall/people -H "Authorization: Bearer $token"',
      asMember,
    )
    expect(JSON.parse(shell(people))).to.have.property('people')
    const ask = documentedCommand(
      `curl http://localhost:8080/api/upstream/accounts -H 'Content-Type: application/json' -d '{"ids":["7285931904831488"]}' -H "Authorization: Upstream $(sh examples/upstream/ask.sh chat http://localhost:8080 chat.pem)"`,
      { ...gateway, '7285931904831488': userId, 'sh chat': 'sh rooms', 'chat.pem': 'rooms.pem' },
    )
    expect(JSON.parse(shell(ask))).to.have.nested.property('accounts[0].username', 'ada')

    const replicas = [String(await freePort()), String(await freePort())] as const
    const shared = { ...room, DATABASE: 'rooms.db', KEY: 'rooms.pem' }
    start(
      documentedCommand('PORT=9100 python3 examples/chat-python/rooms.py &', { '9100': replicas[0], ' &': '' }),
      shared,
    )
    start(
      documentedCommand('PORT=9101 python3 examples/chat-python/rooms.py &', { '9101': replicas[1], ' &': '' }),
      shared,
    )
    for (const port of replicas) await answers(`curl -i http://localhost:${port}/api/rooms/hall`, 503)
  })

  it('of the nightly backup keep the newest archives and what is none, and remove the parts of killed ones', () => {
    const manifest = read('deploy/kubernetes/example/backup.yaml')
    const [, retention = ''] = /^ *(ls \/backups.*)$/m.exec(manifest)!
    const [, removal = ''] = /^ *(find \/backups.*)$/m.exec(manifest)!
    const archives = join(folder, 'archives')
    mkdirSync(archives)
    const days = Array.from({ length: 17 }, (_, day) => `gatehouse-2026-01-${String(day + 10)}T03-20-00Z.tar.gz`)
    const parts = ['gatehouse-one.partial', 'gatehouse-two.partial', 'mine.partial']
    for (const name of [...days, ...parts, 'mine.tar.gz']) writeFileSync(join(archives, name), '')
    const yesterday = Date.now() / 1000 - 25 * 60 * 60
    for (const name of [days[16]!, 'gatehouse-one.partial', 'mine.partial'])
      utimesSync(join(archives, name), yesterday, yesterday)

    const script = `${removal}\n${retention}`.replaceAll('/backups', archives)
    execFileSync('sh', ['-ec', script], { env: { ...process.env, KEEP: '14' } })

    expect(readdirSync(archives)).to.have.members([...days.slice(3), ...parts.slice(1), 'mine.tar.gz'])
  })
})
