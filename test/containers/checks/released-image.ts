import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { version } from '@gatehouse/runtime'
import { readFinalStage } from '../../../tools/release/dockerfile.ts'
import { buildImages } from '../../../tools/release/image.ts'
import { openRegistry } from '../../../tools/release/registry.ts'
import { addIndex, startRegistry } from '../../../tools/release/test/stand-in-registry.ts'
import { readTar } from '../../../tools/release/tar.ts'
import { ownLimits } from '../podman-arguments.ts'
import { projectRoot } from '../project.ts'
import { expectThat, type Check, type Scene } from '../scene.ts'

const name = 'localhost/gatehouse-test-release'
const settings =
  '{{json .Config.Env}} {{json .Config.User}} {{json .Config.WorkingDir}} {{json .Config.Entrypoint}} {{json .Config.Cmd}}'
const listing =
  'cd / && find app data usr/local -printf "%p %M %U %G %l\\n" | sort && find app usr/local -type f | sort | xargs sha256sum'

/** The base of this engine, from a registry, as `npm run release` takes it. */
async function buildReleased({ engine }: Scene, folder: string): Promise<string> {
  const stage = readFinalStage(projectRoot)
  const saved = join(folder, 'base.tar')
  await engine.run(
    'save',
    '--format',
    'oci-archive',
    '--output',
    saved,
    `docker.io/library/${stage.base.name}:${stage.base.tag}`,
  )
  const files = await readTar(await readFile(saved))
  const blobs = new Map([...files].map(([path, { body }]) => [path.replace(/^blobs\/sha256\//, 'sha256:'), body]))
  const { manifests } = JSON.parse(blobs.get('index.json')!.toString()) as { manifests: { digest: string }[] }
  await using registry = await startRegistry(addIndex(blobs, manifests[0]!.digest))
  const based = { ...stage, base: { ...stage.base, digest: registry.index } }
  const source = { version, commit: '0'.repeat(40), createdAt: new Date(0), log: () => undefined }
  const build = () => buildImages(openRegistry(registry.origin), based, source)
  const [archive, again] = [await build(), await build()]
  expectThat(archive.equals(again), 'it has other bytes when it is built again')
  await writeFile(join(folder, 'released.tar'), archive)
  return join(folder, 'released.tar')
}

export const releasedImage: Check = {
  name: 'the image of npm run release',
  async run(scene) {
    const { engine, image } = scene
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-released-'))
    try {
      const loaded = await engine.run('pull', '--quiet', `oci-archive:${await buildReleased(scene, folder)}`)
      await engine.run('tag', loaded, name)
      const run = (one: string, user: string, program: string, ...args: string[]) =>
        engine.run(
          'run',
          '--rm',
          '--network',
          'none',
          ...ownLimits(),
          '--user',
          user,
          '--entrypoint',
          program,
          one,
          ...args,
        )
      const describe = async (one: string) => [
        // Buildah adds a PATH where the base, as a stand-in, has none.
        (await engine.run('inspect', '--format', settings, one)).replace(/"PATH=[^"]*",?/, ''),
        await run(one, '0:0', 'sh', '-c', listing),
      ]
      const [built, released] = [await describe(image), await describe(name)]
      for (const [index, text] of built.entries())
        expectThat(text === released[index], `they differ: ${released[index]}`)
      const said = await run(name, '10001:10001', 'gatehouse', '--help')
      expectThat(said.startsWith('Usage: gatehouse'), `gatehouse --help printed ${said}`)
      return `the same ${built[1]!.split('\n').length} lines of files, modes, owners and digests as the Dockerfile's`
    } finally {
      await rm(folder, { recursive: true, force: true })
      await engine.run('rmi', '--force', name)
    }
  },
}
