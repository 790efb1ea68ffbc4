import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { root } from '../../setup/project.js'
import { readFinalStage } from '../dockerfile.ts'
import { imageFolder } from '../image-files.ts'
import { buildImages } from '../image.ts'
import { digestOf, openRegistry } from '../registry.ts'
import { readTar } from '../tar.ts'
import { makeBase, startRegistry } from './stand-in-registry.ts'

type Index = { manifests: { digest: string; platform?: object; annotations?: object }[] }
type Manifest = { config: { digest: string }; layers: { digest: string }[] }

/** What `image-files.ts` writes, in small: the container checks look at all of it. */
const writeFiles = (mode: number) => async () => {
  await rm(imageFolder, { recursive: true, force: true })
  for (const folder of ['runtime/usr/local/bin', 'app/app/web', 'data'])
    await mkdir(join(imageFolder, folder), { recursive: true, mode: mode | 0o700 })
  await writeFile(join(imageFolder, 'runtime/usr/local/bin/node'), 'a program', { mode: mode | 0o700 })
  await writeFile(join(imageFolder, 'app/app/web/index.html'), 'a page', { mode })
}

describe('the image of a release', () => {
  const source = { version: '1.2.3', commit: '0'.repeat(40), createdAt: new Date(0), log: () => undefined }
  const build = async (mode: number): Promise<Buffer> => {
    await using registry = await startRegistry(await makeBase())
    const stage = readFinalStage(root)
    const based = { ...stage, base: { ...stage.base, digest: registry.index } }
    return await buildImages(openRegistry(registry.origin), based, { ...source, writeFiles: writeFiles(mode) })
  }

  it('is the same whenever it is built, whatever the modes and times of its files', async () => {
    expect(digestOf(await build(0o600))).to.equal(digestOf(await build(0o644)))
  })

  it('has the layers of the base, one for each COPY of the Dockerfile, and its settings', async () => {
    const archive = await readTar(await build(0o644))
    const read = (digest: string): Buffer => {
      const { body } = archive.get(`blobs/${digest.replace(':', '/')}`)!
      expect(digestOf(body)).to.equal(digest)
      return body
    }
    const { manifests: top } = JSON.parse(archive.get('index.json')!.body.toString()) as Index
    const { manifests } = JSON.parse(read(top[0]!.digest).toString()) as Index
    const manifest = JSON.parse(read(manifests[0]!.digest).toString()) as Manifest
    const config = JSON.parse(read(manifest.config.digest).toString()) as { config: object }
    const layers = await Promise.all(manifest.layers.map(({ digest }) => readTar(read(digest))))

    expect(top[0]!.annotations).to.deep.equal({ 'org.opencontainers.image.ref.name': '1.2.3' })
    expect(manifests.map(({ platform }) => platform)).to.deep.equal([{ os: 'linux', architecture: 'amd64' }])
    const files = ['etc/platform', 'usr/local/bin/node', 'app/web/index.html', undefined]
    expect(layers.map((layer) => [...layer.keys()][0])).to.deep.equal(files)
    expect(layers[1]!.get('usr/local/bin/node')!.isExecutable).to.equal(true)
    expect(config.config).to.deep.include({
      Env: ['PATH=/bin', 'NODE_ENV=production', 'GATEHOUSE_DATA=/data', 'WEB_ROOT=/app/web'],
      User: '10001:10001',
      WorkingDir: '/app',
      Cmd: ['gateway/src/main.mjs'],
    })
  })
})
