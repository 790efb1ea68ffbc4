import { mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { findImageTool } from '../image-tool.ts'
import { readArchive } from './read-archive.ts'

const createdAt = new Date('2026-01-02T03:04:05Z')
// As deploy/Dockerfile without its RUNs, which need a network.
const dockerfile = `FROM --platform=$BUILDPLATFORM scratch AS build
ARG TARGETARCH
COPY files /files-$TARGETARCH

FROM scratch
ARG TARGETARCH
COPY --from=build --chown=10001:10001 /files-$TARGETARCH /app
USER 10001:10001
`

describe('the image that buildah builds for a release', () => {
  it('has each platform, the labels and times of the commit, and the same bytes when it is built again', async () => {
    await using scope = new AsyncDisposableStack()
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-image-'))
    scope.defer(() => rm(folder, { recursive: true, force: true }))
    for (const name of ['deploy', 'files']) await mkdir(join(folder, name))
    await writeFile(join(folder, 'deploy/Dockerfile'), dockerfile)
    await writeFile(join(folder, 'deploy/Dockerfile.dockerignore'), '**/ignored\n')
    for (const name of ['file', 'ignored']) await writeFile(join(folder, 'files', name), name)
    // Its own storage, and a driver that works within a container too.
    const storage = `[storage]\ndriver = "vfs"\ngraphroot = "${folder}/storage"\nrunroot = "${folder}/run"\n`
    await writeFile(join(folder, 'storage.conf'), storage)
    const tool = await findImageTool({ ...process.env, CONTAINERS_STORAGE_CONF: join(folder, 'storage.conf') })
    const source = { version: '1.2.3', commit: 'c0ffee', createdAt, folder }

    const archive = join(folder, 'image.oci.tar')
    await tool.build({ ...source, archive })
    const first = await readFile(archive)
    await utimes(join(folder, 'files/file'), new Date(), new Date())
    await tool.build({ ...source, archive })

    expect(tool.name).to.match(/^buildah /)
    expect((await readFile(archive)).equals(first), 'the same bytes').to.equal(true)
    const { name, images } = await readArchive(first)
    expect(name).to.equal('1.2.3')
    expect(images.map(({ platform }) => platform.architecture)).to.have.members(['amd64', 'arm64'])
    for (const { config, created, files } of images) {
      expect(created).to.equal('2026-01-02T03:04:05Z')
      expect(config.User).to.equal('10001:10001')
      expect(config.Labels).to.include({
        'org.opencontainers.image.title': 'gatehouse',
        'org.opencontainers.image.version': '1.2.3',
        'org.opencontainers.image.revision': 'c0ffee',
      })
      expect(files).to.deep.equal([{ name: 'app/file', uid: 10_001, mtime: createdAt }])
    }
  })
})
