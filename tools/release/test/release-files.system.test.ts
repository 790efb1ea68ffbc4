import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { documentedCommand } from '@gatehouse/test-kit'
import { extract } from 'tar-stream'
import { openHelm } from '../../../deploy/test/helm.ts'
import { root } from '../../setup/project.js'
import {
  commitAll,
  committedAt,
  git,
  listReleased,
  makeClone,
  makeParent,
  names,
  released,
  runRelease,
  version,
} from './release-clone.ts'
import { makeTools } from './stand-in-tools.ts'

describe('the files of npm run release', function () {
  this.timeout(600_000)
  const scope = new AsyncDisposableStack()
  let tools: Awaited<ReturnType<typeof makeTools>>
  let parent: string
  let first: string

  before(async () => {
    tools = scope.use(await makeTools())
    parent = makeParent(scope)
    first = join(parent, 'first')
    makeClone(first)
    await tools.place('skopeo', "printf '{}'")
    await runRelease(first, documentedCommand('npm run release -- renew-bases'), { path: tools.folder })
    commitAll(first)
    await tools.placeBuildah()
  })
  after(() => scope.disposeAsync())

  it('has the image that buildah builds of the commit, and names the tool', async () => {
    const { code, output } = await runRelease(first, documentedCommand('npm run release'), { path: tools.folder })

    expect(code, output).to.equal(0)
    const image = `gatehouse-${version}.oci.tar`
    expect(Object.keys(listReleased(first))).to.have.members([...names, image])
    const commit = git(first, 'rev-parse', 'HEAD').trim()
    const [build] = (await tools.readCalls()).filter((call) => call.startsWith('buildah build '))
    expect(build)
      .to.include(`--label org.opencontainers.image.revision=${commit} `)
      .and.to.match(/\/first$/)
    const provenance = readFileSync(join(released(first), 'provenance.json'), 'utf8')
    expect(provenance).to.include('"name": "buildah version 1.2.3"').and.to.include(image)
  })

  // release.system.test.ts makes it twice.
  it('has no path, mode or time of the machine', async () => {
    for (const name of names) {
      const body = readFileSync(join(released(first), name))
      expect(body.includes(parent), name).to.equal(false)
      if (/gz$/.test(name)) await expectOfCommit(body)
    }
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
})

/** That all of an archive is the same in every clone. */
async function expectOfCommit(archive: Buffer): Promise<void> {
  const time = archive.readUInt32LE(4)
  expect(time, 'the time in the header of gzip').to.equal(0)
  const reader = extract()
  reader.end(gunzipSync(archive))
  const entries: string[] = []
  for await (const entry of reader) {
    const { name, mode, mtime, uid, gid } = entry.header
    entry.resume()
    entries.push(name)
    expect(mode, name).to.be.oneOf([0o644, 0o755])
    expect([mtime, uid, gid], name).to.deep.equal([new Date(committedAt), 0, 0])
  }
  expect(entries).to.deep.equal(entries.toSorted()).and.not.be.empty
}
