import { spawnSync } from 'node:child_process'
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createScratchFolder } from '@gatehouse/local-servers'
import { z } from 'zod'
import { projectRoot } from '../../deploy/cluster/cluster-process.ts'

const release = z.object({ version: z.string(), commit: z.string().regex(/^[0-9a-f]{7,40}$/) })
const releases = z.object({
  /** Whose processes work beside those of this release. */
  upgradable: z.array(release),
  /** From which an upgrade is a stop and a start. */
  stopAndStart: z.array(release.extend({ because: z.string() })),
})

export type Releases = z.infer<typeof releases>

export const releasesFile = join(import.meta.dirname, 'releases.json')

/** The earlier releases, as releases.json names them. */
export function readReleases(): Releases {
  return releases.parse(JSON.parse(readFileSync(releasesFile, 'utf8')))
}

/** The releases after this one: a rolling upgrade is possible from it alone. Throws for what is no list of releases. */
export function withRelease(before: unknown, added: z.infer<typeof release>): Releases {
  const { stopAndStart } = releases.parse(before)
  return {
    upgradable: [release.parse(added)],
    stopAndStart: stopAndStart.filter(({ version }) => version !== added.version),
  }
}

/** The whole id of a commit of this clone. Throws, saying so, when it has none such, as a shallow clone. */
export function fullCommit(commit: string): string {
  const { status, stdout } = spawnSync('git', ['rev-parse', '--verify', '--quiet', `${commit}^{commit}`], {
    cwd: projectRoot,
    encoding: 'utf8',
  })
  if (status === 0) return stdout.trim()
  throw new Error(`the commit ${commit} is not in this clone; a shallow one gets it with: git fetch --unshallow`)
}

/**
 * The source tree of a commit, with its packages, in a folder of its own, which ends with this process. Throws, saying so,
 * when the clone lacks the commit.
 */
export async function openReleaseTree(commit: string, log: (line: string) => void) {
  const fullHash = fullCommit(commit)
  const root = await createScratchFolder('release')
  run('sh', ['-c', `git archive ${fullHash} | tar -x -C "$0"`, root], projectRoot)
  const lockOf = (folder: string): Promise<string> => readFile(join(folder, 'package-lock.json'), 'utf8')
  if (packagesOf(await lockOf(root)) === packagesOf(await lockOf(projectRoot))) await linkPackages(root)
  else {
    log('its packages are others than those of this release: npm ci')
    run('npm', ['ci', '--no-audit', '--no-fund'], root)
  }
  return { root, [Symbol.asyncDispose]: () => Promise.resolve() }
}

/** What a lock file installs from registries. */
function packagesOf(lock: string): string {
  const { packages } = JSON.parse(lock) as { packages: Record<string, { version?: string; dev?: boolean }> }
  const installed = Object.entries(packages).filter(([path, { dev }]) => path.includes('node_modules/') && !dev)
  return JSON.stringify(installed.map(([path, { version }]) => [path, version]).sort())
}

/** The packages of this tree; but those of the workspaces are the tree's own. */
async function linkPackages(root: string): Promise<void> {
  const ours = join(projectRoot, 'node_modules')
  await mkdir(join(root, 'node_modules', '@gatehouse'), { recursive: true })
  for (const name of await readdir(ours)) {
    if (name !== '@gatehouse' && !name.startsWith('.'))
      await symlink(join(ours, name), join(root, 'node_modules', name))
  }
  for (const folder of ['libs', 'services', 'deploy', '.']) {
    for (const name of folder === '.' ? ['gateway'] : await readdir(join(root, folder))) {
      if (!existsSync(join(root, folder, name, 'package.json'))) continue
      await symlink(join(root, folder, name), join(root, 'node_modules', '@gatehouse', name))
    }
  }
}

function run(command: string, args: string[], cwd: string): void {
  const { status, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr}`)
}
