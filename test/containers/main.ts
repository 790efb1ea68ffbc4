// `npm run test:containers [-- NAME] [--built] [--keep]`: builds the image, runs docker-compose.yml with docker or podman, and prints
// a table of checks, with NAME of those whose name contains it. Exit code 0: all passed; 1: one failed; 2: it could not run here,
// which is no pass. `--built` takes the image of an earlier run, which `--keep` keeps.
// Needs docker with compose; or podman as root with iptables and, where no registry answers, debootstrap, tar, chroot and npm.
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureBaseImages, usesStandIns, withoutDigests } from './base-images.ts'
import { accountChecks, register } from './checks/accounts.ts'
import { restoreDrill } from './checks/backup.ts'
import { isolationChecks, logChecks } from './checks/isolation.ts'
import { replicaChecks } from './checks/replicas.ts'
import { releaseChecks, serverChecks } from './checks/servers.ts'
import { findEngine, runProgram } from './engine.ts'
import { openProject, projectRoot } from './project.ts'
import { readWarnings, type Check, type Scene } from './scene.ts'

const image = 'localhost/gatehouse-test'
const ports = [18_080, 18_081]
const backups = await mkdtemp(join(tmpdir(), 'gatehouse-backups-'))
// The containers' user writes there.
await chmod(backups, 0o777)
const variables = {
  BACKUPS: backups,
  PUBLISH: `127.0.0.1:${ports[0]}-${ports[1]}`,
  PUBLIC_ORIGIN: `http://localhost:${ports[0]}`,
  TRUST_PROXY: '10.203.141.1',
  GATEWAY_REPLICAS: '2',
  IDENTITY_REPLICAS: '2',
  INVITE_REPLICAS: '2',
  SESSION_GATEWAY_REPLICAS: '2',
  FEDERATION_FANOUT_REPLICAS: '2',
  OPENID_REPLICAS: '2',
}

const log = (line: string): void => void process.stdout.write(`${line}\n`)
const { engine, reasons } = await findEngine()
if (!engine) {
  log(
    `SKIPPED, which is no pass: ${reasons.join('; ')}. It needs docker with compose, or podman as root with iptables.`,
  )
  process.exit(2)
}

const flags = process.argv.slice(2)
const only = flags.find((flag) => !flag.startsWith('--'))
await using cleanup = new AsyncDisposableStack()
const folder = await mkdtemp(join(tmpdir(), 'gatehouse-containers-'))
cleanup.defer(() => rm(folder, { recursive: true, force: true }))
cleanup.defer(() => rm(backups, { recursive: true, force: true }))
if (!flags.includes('--built')) {
  const reason = await ensureBaseImages(engine, log)
  if (reason !== undefined) {
    log(`SKIPPED, which is no pass: ${reason}`)
    process.exit(2)
  }
}
const hasStandIns = await usesStandIns(engine)
const edit = hasStandIns ? withoutDigests : (text: string) => text
if (!flags.includes('--built')) {
  log(`building the image with ${engine.name}`)
  const own = join(projectRoot, 'deploy/Dockerfile')
  const ignore = engine.name === 'podman' ? ['--ignorefile', `${own}.dockerignore`] : []
  const file = hasStandIns ? join(folder, 'Dockerfile') : own
  if (hasStandIns) await writeFile(file, edit(await readFile(own, 'utf8')))
  await engine.run('build', '--network', 'host', ...ignore, '--file', file, '--tag', image, projectRoot)
}
if (!flags.includes('--keep')) cleanup.defer(async () => void (await engine.run('rmi', '--force', image)))

const secrets = join(folder, 'secrets')
await runProgram('sh', [join(projectRoot, 'deploy/make-secrets.sh'), secrets])
const project = await openProject({ engine, variables, secrets, image, edit })
cleanup.defer(() => project.down())

const startedAt = performance.now()
await project.up()
log(`all containers are healthy after ${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
const origins = ports.map((port) => `http://127.0.0.1:${port}`)
const scene: Scene = { engine, project, secrets, image, origins }
const admin = await register(scene, 'admin')
const user = await register(scene)

const checks: Check[] = [
  ...isolationChecks,
  ...accountChecks(admin),
  ...replicaChecks(user),
  ...serverChecks(user),
  ...releaseChecks(user),
  ...logChecks,
  restoreDrill,
]
if (hasStandIns) log('The base images are stand-ins of Debian packages: musl and the official images are not tested.')
let failed = 0
const chosen = checks.filter(({ name }) => only === undefined || name.includes(only))
if (chosen.length === 0) log(`no check has a name with "${only}": ${checks.map(({ name }) => name).join('; ')}`)
for (const { name, run } of chosen) {
  const begun = new Date()
  const [result, evidence] = await run(scene).then(
    (said) => ['pass', said] as const,
    (err: Error & { stderr?: string }) => ['FAIL', err.stderr || err.message] as const,
  )
  if (result === 'FAIL') failed += 1
  log(`| ${name} | ${result} | ${evidence.replaceAll('\n', ' ').slice(0, 400)} |`)
  if (result === 'FAIL') for (const line of await readWarnings(scene, begun)) log(`    ${line}`)
}
log(`${chosen.length - failed} passed, ${failed} failed`)
await cleanup.disposeAsync()
process.exit(failed === 0 && chosen.length > 0 ? 0 : 1)
