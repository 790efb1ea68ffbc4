import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { startInstance, startProgram } from '../deploy/test/program.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const pages = globSync(['*.md', 'docs/**/*.md', 'deploy/**/*.md', 'tools/**/*.md'], { cwd: root }).filter(
  (page) => page !== 'CHANGELOG.md',
)

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
    'npm run --silent gatehouse -- users make-admin ada',
    'gatehouse users unsuspend <user>',
    'gatehouse users make-admin <user>',
    'gatehouse users recovery-link <user>',
    'gatehouse users list --deleted',
    'gatehouse invites suspend-users <id>',
    'npm run --silent gatehouse -- backup monday.tar.gz',
    'npm run gatehouse -- backup /backups/monday.tar.gz --secrets /backups/monday.secrets --passphrase-file passphrase',
  ],
  stopped:
    'GATEHOUSE_DATA=/srv/elsewhere npm run gatehouse -- restore /backups/monday.tar.gz --secrets … --passphrase-file …',
  shell: [
    'openssl genpkey -algorithm ed25519 -out rooms.pem',
    "key=$(openssl pkey -in rooms.pem -pubout -outform DER | tail -c 32 | openssl base64 -A | tr '+/' '-_' | tr -d '=')",
    'sed "s/KEY/$key/" examples/chat-python/upstreams.yaml > upstreams.yaml',
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

/** Forms that another test runs: the file, and what stands in it. */
const elsewhere: [command: RegExp, file: string, evidence: string][] = [
  [/^npm start$/, 'deploy/test/embedded-main.test.ts', 'startInstance'],
  [/^npm run example/, 'test/example.test.ts', 'chat-python'],
  [/^npm run test:faults/, 'test/faults.test.ts', 'runFaults'],
  [/^npm run test:revocation/, 'test/revocation.test.ts', 'revocation'],
  [/^npm run test:upgrade/, 'test/upgrade.test.ts', 'upgrade'],
  [/^npm run test:containers/, 'test/containers/main.ts', 'restoreDrill'],
  [/^npm run test:simulation/, 'test/simulation.test.ts', 'simulation'],
  [/^npm run test:mesh/, 'test/mesh.test.ts', 'runMesh'],
  [/^npm run test:fuzz/, 'test/fuzz.test.ts', 'runFuzz'],
  [/^npm run bench/, 'bench/bench.test.ts', 'bench'],
  [/^npm run probe/, 'tools/probe/probe.test.ts', 'probe'],
  [/^npm run conformance/, 'test/conformance/conformance.test.ts', 'conformance'],
  [/^npm run cluster/, 'deploy/test/cluster.test.ts', '--gateway'],
  [/move-up/, 'deploy/test/backup.test.ts', "'move-up'"],
  [/ import backspace/, 'deploy/test/import.test.ts', "'import'"],
  [/ restore monday/, 'deploy/test/backup.test.ts', "'restore'"],
  [/ encrypt$/, 'deploy/test/encrypt.test.ts', "'encrypt'"],
  [/ uploads move /, 'deploy/test/upload-store.test.ts', "'uploads', 'move'"],
  [/ users delete /, 'deploy/test/command-line.test.ts', "'users', 'delete'"],
  [/receipts verify/, 'deploy/test/command-line.test.ts', "'receipts'"],
  [/^docker compose|roll\.sh/, 'test/containers/main.ts', 'restoreDrill'],
  [/^helm .*install/, 'deploy/test/helm-chart.test.ts', 'values'],
  [/^kubectl apply/, 'deploy/test/kubernetes-schemas.test.ts', 'kustomize'],
  [/^npm run release( -- renew-bases)?$|sha256sum/, 'tools/release/test/release.test.ts', 'SHA256SUMS'],
  [/rooms|GATEHOUSE_UPSTREAMS=|^nats-server/, 'test/example.test.ts', 'chat-python'],
  [/^api=|\$api\/|^curl/, 'test/readme.test.ts', 'sessionOf'],
  [/ask\.sh/, 'gateway/test/upstream-asks.test.ts', 'integrating.md'],
  [/pkeyutl/, 'gateway/test/upstreams.test.ts', 'integrating.md'],
  [/^npm (run )?(check|test|audit|format|build:client|build:upstream)/, '.ci/run', 'npm'],
]

/** Of another machine, or with credentials: nothing here can run them. */
const notHere: [command: RegExp, reason: string][] = [
  [/^kubectl /, 'a cluster'],
  [/^journalctl /, 'a service of systemd'],
  [/^install -d .* -o 10001/, 'root makes a folder for the user of the containers'],
  [/^(skopeo|npm publish|helm push|git tag)/, 'credentials of a registry'],
]

describe('the commands of the docs', function () {
  this.timeout(200_000)
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-docs-'))
  after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))

  /** Paths are those of a folder of the test. */
  async function gatehouse(command: string, names: Record<string, string> = {}) {
    const [, words = ''] = /(?:-- |gatehouse )(?!-- )(.*)$/.exec(command.replace(/^.*gatehouse -- /, 'gatehouse '))!
    const args = words
      .split(' ')
      .map((word) => names[word] ?? word.replace(/^(\/backups\/)?(monday\.|passphrase)/, `${folder}/$2`))
    const GATEHOUSE_DATA = join(folder, /GATEHOUSE_DATA=\S*\/(\S+)/.exec(command)?.[1] ?? 'data')
    return await startProgram('deploy/cli/main.ts', { GATEHOUSE_DATA }, args).exited
  }

  it('are run here, by another test, or named with the reason why not', () => {
    const here = new Set([run.start, run.stopped, ...run.beside, ...run.shell])
    const found = new Set(pages.flatMap((page) => commandsOf(read(page))))
    const unknown = [...found].filter(
      (command) => !here.has(command) && ![...elsewhere, ...notHere].some(([form]) => form.test(command)),
    )

    expect(unknown).to.deep.equal([])
    expect(
      [...here].filter((command) => !found.has(command)),
      'no page has them',
    ).to.deep.equal([])
    for (const [form] of [...elsewhere, ...notHere])
      expect(
        [...found].some((command) => form.test(command)),
        `${form} is of no command`,
      ).to.equal(true)
    for (const [, file, evidence] of elsewhere) expect(read(file), file).to.include(evidence)
    const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts)
    for (const command of found) {
      const script = /npm run (?:--silent )?([a-z:-]+)/.exec(command)?.[1]
      if (script) expect(scripts, command).to.include(script)
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
    mkdirSync(join(clone, 'examples'), { recursive: true })
    execFileSync('cp', ['-r', join(root, 'deploy'), clone])
    execFileSync('cp', ['-r', join(root, 'examples/chat-python'), join(clone, 'examples')])

    execFileSync('bash', ['-euo', 'pipefail', '-c', run.shell.join('\n')], { cwd: clone, stdio: 'pipe' })

    const made = (name: string): string => readFileSync(join(clone, name), 'utf8')
    expect(made('upstreams.yaml')).to.match(/key: [\w-]{43}\b/)
    expect(made('.env')).to.equal('PUBLIC_ORIGIN=https://chat.example\nIDENTITY_REPLICAS=2\n')
    for (const name of ['deploy/secrets', 'my-instance', 'deploy/kubernetes/my-instance/secrets'])
      expect(existsSync(join(clone, name, 'caller_keys')), name).to.equal(true)
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
