// npm run release [-- --without-images]: writes what one publishes into .gatehouse/release/<version>, the same bytes from the same
// commit (of the image: by the same tool). Exit code 0: all of it; 1: nothing; 2: all but the image. Nothing is sent anywhere: docs/releasing.md.
// npm run release -- renew-bases: the digests that the base images' tags have now.
import { parseArgs } from 'node:util'
import { root } from '../setup/project.js'
import { readBaseImages, writeDigests } from './base-images.ts'
import { readDigest } from './image-tool.ts'
import { writeRelease } from './write-release.ts'

const log = (line: string): void => void process.stdout.write(`${line}\n`)

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'without-images': { type: 'boolean', default: false } },
  })
  if (positionals.join() === 'renew-bases') {
    const digests = new Map<string, string>()
    for (const { name, tag, digest: former } of readBaseImages(root)) {
      const digest = await readDigest(`docker.io/${name.includes('/') ? name : `library/${name}`}:${tag}`)
      digests.set(`${name}:${tag}`, digest)
      log(`${name}:${tag} ${digest === former ? 'is as it was' : digest}`)
    }
    writeDigests(root, digests)
  } else if (positionals.length > 0) {
    throw new Error(`"${positionals.join(' ')}" is no command of npm run release: none, or renew-bases`)
  } else {
    const isWhole = await writeRelease({ withImage: !values['without-images'], log })
    if (!isWhole) process.exitCode = 2
  }
} catch (err) {
  process.stderr.write(`npm run release: ${(err as Error).message}\n`)
  process.exitCode = 1
}
