import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readBaseImages } from '../../tools/release/base-images.ts'
import { runProgram, succeeds, type Engine } from './engine.ts'
import { projectRoot } from './project.ts'

const pullLimitMs = 120_000
const needed = ['debootstrap', 'tar', 'chroot', 'npm'] as const

/** What the Dockerfile and the compose file start from, with the registry's name, as podman wants it. */
function listBaseImages(): string[] {
  return readBaseImages(projectRoot).map(({ name, tag, digest }) => {
    return `docker.io/library/${name}${digest ? `@${digest}` : `:${tag}`}`
  })
}

/** The stand-ins have tags only. */
export const withoutDigests = (text: string): string => text.replaceAll(/@sha256:[0-9a-f]{64}/g, '')

/**
 * Fetches the base images that are missing. Where no registry answers, podman makes stand-ins of Debian's packages under
 * their names, which stay for the next run. Gives why it cannot, or undefined.
 */
export async function ensureBaseImages(engine: Engine, log: (line: string) => void): Promise<string | undefined> {
  const absentImages: string[] = []
  for (const image of listBaseImages()) {
    if (!(await succeeds(engine.run('image', 'inspect', image)))) absentImages.push(image)
  }
  const unfetched: string[] = []
  for (const image of absentImages) {
    // A registry that did not answer for one image is not asked for the next.
    if (unfetched.length > 0 || !(await succeeds(runProgram(engine.name, ['pull', image], {}, pullLimitMs)))) {
      unfetched.push(image)
    }
  }
  if (unfetched.length === 0) return undefined
  const reason = await whyNoStandIns(engine)
  if (reason !== undefined) return `no registry answers for ${unfetched.join(', ')}, and ${reason}`
  log(
    `no registry answers for ${unfetched.join(', ')}: making stand-ins of Debian's packages, labeled gatehouse.stand-in`,
  )
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-stand-ins-'))
  try {
    await runProgram('sh', [join(projectRoot, 'test/containers/stand-ins.sh'), engine.name, folder])
    return undefined
  } catch (err) {
    return `the stand-ins could not be made: ${(err as Error).message}`
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Whether the base images are stand-ins: what a run then shows, and what not, is in docs/operate/docker-compose.md. */
export async function usesStandIns(engine: Engine): Promise<boolean> {
  const listed = await engine.run('images', '--quiet', '--filter', 'label=gatehouse.stand-in=true')
  return listed !== ''
}

async function whyNoStandIns(engine: Engine): Promise<string | undefined> {
  if (engine.name !== 'podman') return 'stand-ins are made with podman only'
  if (process.getuid?.() !== 0) return 'stand-ins need root'
  const absent: string[] = []
  for (const program of needed) {
    if (!(await succeeds(runProgram('sh', ['-c', 'command -v "$0"', program])))) absent.push(program)
  }
  return absent.length > 0 ? `stand-ins need ${absent.join(', ')}` : undefined
}
