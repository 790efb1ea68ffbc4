import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findOnPath, findProgram } from '../../libs/local-servers/src/find-program.js'
import { platforms } from './image-files.ts'

const execute = promisify(execFile)
const outputLimitBytes = 64 * 1024 ** 2

export type ImageSource = { version: string; commit: string; createdAt: Date }
/** `folder` has deploy/Dockerfile. `archive` is the path of the OCI archive. */
type Build = ImageSource & { folder: string; archive: string }
type ImageTool = {
  /** With its version, as the provenance names it. */
  name: string
  /** Writes one OCI archive for all platforms. Throws with what the tool said. */
  build(input: Build): Promise<void>
}

/** What builds images on this machine: buildah, which needs no daemon, else docker with buildx. Throws without either. */
export async function findImageTool(env = process.env): Promise<ImageTool> {
  const buildah = findProgram('buildah', env)
  if (buildah) {
    const name = (await run(env, buildah, '--version')).toString().trim()
    return { name, build: (input) => buildWithBuildah(buildah, input, env) }
  }
  try {
    const name = (await run(env, 'docker', 'buildx', 'version')).toString().trim()
    return { name, build: (input) => buildWithBuildx(input, env) }
  } catch (cause) {
    throw new Error('the image needs buildah, or docker with buildx: neither is on the PATH', { cause })
  }
}

async function buildWithBuildah(program: string, input: Build, env: NodeJS.ProcessEnv): Promise<void> {
  const { version, createdAt, folder, archive } = input
  const list = `localhost/gatehouse-release:${version}`
  const seconds = String(createdAt.getTime() / 1000)
  // What an interrupted build has left; another build would add its images to the same list.
  await run(env, program, 'manifest', 'rm', list).catch(() => undefined)
  const options = ['--manifest', list, '--timestamp', seconds, '--network', 'host']
  const ignored = ['--ignorefile', join(folder, 'deploy/Dockerfile.dockerignore')]
  // One after another: of several platforms in one build the order in the list differs from build to build.
  for (const platform of platforms) {
    await run(env, program, 'build', ...commonOptions(input, platform), ...options, ...ignored, folder)
  }
  const layout = `${archive}.layout`
  try {
    await run(env, program, 'manifest', 'push', '--all', '--rm', list, `oci:${layout}:${version}`)
    // An archive of buildah's own has the time at which it was written.
    const entries = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX']
    await run(env, 'tar', ...entries, `--mtime=@${seconds}`, '-cf', archive, '-C', layout, '.')
  } finally {
    rmSync(layout, { recursive: true, force: true })
  }
}

async function buildWithBuildx(input: Build, env: NodeJS.ProcessEnv): Promise<void> {
  const { version, createdAt, folder, archive } = input
  const timed = { ...env, SOURCE_DATE_EPOCH: String(createdAt.getTime() / 1000) }
  // Its provenance would have the time of the build: provenance.json of the release has none.
  const options = ['--provenance=false', '--tag', `gatehouse:${version}`]
  const output = ['--output', `type=oci,dest=${archive},rewrite-timestamp=true`]
  await run(
    timed,
    'docker',
    'buildx',
    'build',
    ...commonOptions(input, platforms.join()),
    ...options,
    ...output,
    folder,
  )
}

function commonOptions({ version, commit, folder }: Build, platform: string): string[] {
  const labels = { title: 'gatehouse', version, revision: commit }
  return [
    '--no-cache',
    '--platform',
    platform,
    ...Object.entries(labels).flatMap(([name, value]) => ['--label', `org.opencontainers.image.${name}=${value}`]),
    '--file',
    join(folder, 'deploy/Dockerfile'),
  ]
}

/** The digest that an image's tag has in its registry, of all platforms. Throws with what skopeo, else docker buildx, said. */
export async function readDigest(image: string, env = process.env): Promise<string> {
  const skopeo = findOnPath(['skopeo'], env)
  const manifest = skopeo
    ? await run(env, skopeo, 'inspect', '--raw', `docker://${image}`)
    : await run(env, 'docker', 'buildx', 'imagetools', 'inspect', '--raw', image)
  return `sha256:${createHash('sha256').update(manifest).digest('hex')}`
}

async function run(env: NodeJS.ProcessEnv, program: string, ...args: string[]): Promise<Buffer> {
  try {
    const { stdout } = await execute(program, args, { env, encoding: 'buffer', maxBuffer: outputLimitBytes })
    return stdout
  } catch (cause) {
    const { stderr, message } = cause as Error & { stderr?: Buffer }
    const said = stderr?.toString().trim().split('\n').at(-1) || message
    throw new Error(`${program} ${args[0]}: ${said}`, { cause })
  }
}
