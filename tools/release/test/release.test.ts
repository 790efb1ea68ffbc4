import { execFile, execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { documentedCommand } from '@gatehouse/test-kit'
import { openHelm } from '../../../deploy/test/helm.ts'
import { readCommand } from '../../../deploy/test/program.ts'
import { root } from '../../setup/project.js'
import { digestOf, openRegistry } from '../registry.ts'
import { makeBase, startRegistry } from './stand-in-registry.ts'

type Run = { code: number; output: string }

const committedAt = '2026-01-02T03:04:05Z'
const identity = ['-c', 'user.name=A person', '-c', 'user.email=person@example.org', '-c', 'commit.gpgsign=false']

function git(folder: string, ...args: string[]): string {
  const dates = { GIT_AUTHOR_DATE: committedAt, GIT_COMMITTER_DATE: committedAt }
  return execFileSync('git', [...identity, ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, ...dates },
  })
}

function runNode(folder: string, ...args: string[]): Promise<Run> {
  return new Promise((resolve) => {
    const flags = ['--disable-warning=ExperimentalWarning', ...args]
    execFile(process.execPath, flags, { cwd: folder }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, output: `${stdout}${stderr}` }),
    )
  })
}

/** `npm run release` in a folder, as the pages have it. */
const release = (folder: string, ...args: string[]): Promise<Run> =>
  runRelease(folder, documentedCommand('npm run release'), args)

function runRelease(folder: string, command: string, args: string[] = []): Promise<Run> {
  const { file, args: documentedArgs } = readCommand(command)
  return runNode(folder, join(folder, file), ...documentedArgs, ...args)
}

/** The files as they stand here, as the only commit of a clone, and its packages. */
function cloneHere(folder: string): void {
  const listed = execFileSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  for (const file of listed.split('\0').filter(Boolean)) {
    mkdirSync(join(folder, dirname(file)), { recursive: true })
    cpSync(join(root, file), join(folder, file), { recursive: true, verbatimSymlinks: true })
  }
  git(folder, 'init', '--quiet')
}

/** Links need no room, where the folder is on the disk of the project. */
const linkPackages = (folder: string): unknown => execFileSync('cp', ['-al', join(root, 'node_modules'), folder])

const version = (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version

const names = [
  ...['SHA256SUMS', 'provenance.json'],
  ...['notes.md', 'gatehouse.cdx.json', `gatehouse-chart-${version}.tgz`, `gatehouse-kustomize-${version}.tar.gz`],
  ...[`gatehouse-client-${version}.tgz`, `gatehouse-upstream-${version}.tgz`],
]

describe('npm run release', function () {
  this.timeout(300_000)
  const scope = new AsyncDisposableStack()
  let registry: Awaited<ReturnType<typeof startRegistry>>
  let parent: string
  let [first, second] = ['', '']
  const released = (folder: string): string => join(folder, '.gatehouse/release', version)
  const listReleased = (folder: string) =>
    Object.fromEntries(
      readdirSync(released(folder)).map((name) => [name, digestOf(readFileSync(join(released(folder), name)))]),
    )

  before(async () => {
    registry = scope.use(await startRegistry(await makeBase()))
    mkdirSync(join(root, '.gatehouse'), { recursive: true })
    parent = mkdtempSync(join(root, '.gatehouse/release-test-'))
    scope.defer(() => rmSync(parent, { recursive: true, force: true }))
    ;[first, second] = [join(parent, 'first'), join(parent, 'a-second-one')]
    cloneHere(first)
    linkPackages(first)
    // What this release would be called.
    const changes = readFileSync(join(first, 'CHANGELOG.md'), 'utf8')
    if (!changes.includes(`\n## ${version}\n`))
      writeFileSync(join(first, 'CHANGELOG.md'), changes.replace('\n## Unreleased\n', `\n## ${version}\n`))
  })
  after(() => scope.disposeAsync())

  it('is refused for files that no commit has', async () => {
    const { code, output } = await release(first)

    expect(code).to.equal(1)
    expect(output).to.match(
      /^npm run release: a release is that of a commit, and these files are in none: .*README\.md/,
    )
  })

  it('is the same in two clones of different paths and modes; while the base has no digest, it says so and has no images', async () => {
    git(first, 'add', '--all')
    git(first, 'commit', '--quiet', '--message', 'The sources')
    execFileSync('sh', ['-c', 'umask 077; git clone --quiet "$0" "$1"', first, second])
    linkPackages(second)
    const [one, other] = await Promise.all([
      release(first, '--registry', registry.origin),
      release(second, '--without-images'),
    ])

    expect(one.code, one.output).to.equal(2)
    expect(one.output).to.match(/^NO IMAGES: .*debian:bookworm-slim without a digest: npm run release -- renew-bases$/m)
    expect(other.code, other.output).to.equal(0)
    expect(Object.keys(listReleased(first))).to.have.members(names)
    expect(listReleased(second)).to.deep.equal(listReleased(first))
    for (const name of names) expect(readFileSync(join(released(first), name)).includes(parent), name).to.equal(false)
  })

  it('has checksums of every file, and a provenance with the commit and the digests', () => {
    const { SHA256SUMS: _sums, ...files } = listReleased(first)
    const sums = readFileSync(join(released(first), 'SHA256SUMS'), 'utf8')
      .trim()
      .split('\n')
    expect(sums).to.have.members(Object.entries(files).map(([name, digest]) => `${digest.slice(7)}  ${name}`))
    const check = documentedCommand('cd .gatehouse/release/<version> && sha256sum --check SHA256SUMS', {
      '<version>': version,
    })
    expect(execFileSync('sh', ['-c', check], { cwd: first, encoding: 'utf8' })).to.match(/^notes\.md: OK$/m)

    type Statement = { subject: { name: string; digest: { sha256: string } }[] }
    const text = readFileSync(join(released(first), 'provenance.json'), 'utf8')
    const subjects = (JSON.parse(text) as Statement).subject.map(({ name, digest }) => [
      name,
      `sha256:${digest.sha256}`,
    ])
    const { 'provenance.json': _itself, ...others } = files
    expect(Object.fromEntries(subjects)).to.deep.equal(others)
    expect(text).to.include(git(first, 'rev-parse', 'HEAD').trim())
  })

  it('has a chart that renders as the folder does, without its links', async () => {
    await using helm = await openHelm()
    const values = { image: { repository: 'gatehouse' }, settings: { PUBLIC_ORIGIN: 'https://chat.example' } }
    const packed = await helm.render(join(released(first), `gatehouse-chart-${version}.tgz`), values)

    expect(packed.length).to.be.greaterThan(30)
    expect(packed).to.deep.equal(await helm.render(join(root, 'deploy/helm/gatehouse'), values))
  })

  it('names each base image by the digest that its tag has in the registry', async () => {
    const renewBases = documentedCommand('npm run release -- renew-bases')
    const { code, output } = await runRelease(first, renewBases, ['--registry', registry.origin])

    expect({ code, output }).to.deep.include({ code: 0 })
    for (const file of ['deploy/Dockerfile', 'docker-compose.yml']) {
      const images = readFileSync(join(first, file), 'utf8').match(/^(FROM | +image: )[\w-]+:(?!local)\S+/gm) ?? []
      expect(images.length).to.be.greaterThan(1)
      for (const image of images) expect(image).to.match(new RegExp(`:[\\w.-]+@${registry.index}$`))
    }
    expect((await runRelease(first, renewBases, ['--registry', registry.origin])).output).to.include('is as it was')
  })

  it('is refused with what is no option, and with a base whose bytes are others', async () => {
    expect(await release(first, 'publish')).to.deep.include({ code: 1 })
    expect(await release(first, '--image')).to.deep.include({ code: 1 })

    registry.blobs.set(registry.index, Buffer.from('{}'))
    const refusal = await openRegistry(registry.origin)
      .fetchManifest('debian', registry.index)
      .catch((err: unknown) => (err as Error).message)
    expect(refusal).to.match(/has another digest: sha256:/)
  })
})
