// npm run release [-- --without-images] [--registry URL]: writes what one publishes into .gatehouse/release/<version>, the same
// bytes from the same commit. Exit code 0: all of it; 1: nothing; 2: all but the images. Nothing is sent anywhere: docs/releasing.md.
// npm run release -- renew-bases [--registry URL]: the digests that the base images' tags have now.
import { parseArgs } from 'node:util'
import { root } from '../setup/project.js'
import { readBaseImages, writeDigests } from './dockerfile.ts'
import { writeRelease } from './write-release.ts'
import { defaultRegistry, openRegistry } from './registry.ts'

const log = (line: string): void => void process.stdout.write(`${line}\n`)

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'without-images': { type: 'boolean', default: false },
      registry: { type: 'string', default: defaultRegistry },
    },
  })
  const registry = openRegistry(values.registry)
  if (positionals.join() === 'renew-bases') {
    const digests = new Map<string, string>()
    for (const { name, tag, digest: former } of readBaseImages(root)) {
      const { digest } = await registry.fetchManifest(name, tag)
      digests.set(`${name}:${tag}`, digest)
      log(`${name}:${tag} ${digest === former ? 'is as it was' : digest}`)
    }
    writeDigests(root, digests)
  } else if (positionals.length > 0) {
    throw new Error(`"${positionals.join(' ')}" is no command of npm run release: none, or renew-bases`)
  } else {
    const isWhole = await writeRelease({ registry: values['without-images'] ? null : registry, log })
    if (!isWhole) process.exitCode = 2
  }
} catch (err) {
  process.stderr.write(`npm run release: ${(err as Error).message}\n`)
  process.exitCode = 1
}
