import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { runProgram, type Engine } from './engine.ts'
import { openPodmanProject } from './podman-project.ts'

export const projectRoot = resolve(import.meta.dirname, '../..')
export const projectName = 'gatehouse-test'

/** The containers of docker-compose.yml. */
export type Project = {
  /** Starts what is missing, all or this one, in the order of the file, and waits until it is healthy. */
  up(service?: string): Promise<void>
  /** Ids of the containers of a service that run, oldest first. */
  containers(service: string): Promise<string[]>
  /** A command in a container of its own. Gives what it printed. */
  run(service: string, ...args: string[]): Promise<string>
  scale(service: string, count: number): Promise<void>
  /** What deploy/roll.sh does. */
  roll(): Promise<void>
  /** Removes every container, network and volume, as a new machine has none. */
  reset(): Promise<void>
  down(): Promise<void>
}

export type ProjectOptions = {
  engine: Engine
  variables: Record<string, string>
  secrets: string
  image: string
  /** Of the text of docker-compose.yml. */
  edit(text: string): string
}

/** The compose file with these secrets and this image, for a project of its own. */
export async function openProject(options: ProjectOptions): Promise<Project> {
  const text = await readFile(join(projectRoot, 'docker-compose.yml'), 'utf8')
  const compose = options
    .edit(text)
    .replaceAll('deploy/secrets/', `${options.secrets}/`)
    .replaceAll('gatehouse:local', options.image)
  return options.engine.name === 'podman' ? openPodmanProject(compose, options) : openDockerProject(compose, options)
}

async function openDockerProject(text: string, { engine, variables }: ProjectOptions): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-compose-'))
  const file = join(folder, 'docker-compose.yml')
  await writeFile(file, text)
  const environment = { ...variables, COMPOSE_FILE: file, COMPOSE_PROJECT_NAME: projectName }
  const compose = (...args: string[]): Promise<string> =>
    runProgram('docker', ['compose', '--project-directory', projectRoot, ...args], environment)
  return {
    up: async (service) =>
      void (await compose('up', '--detach', '--no-build', '--wait', ...(service === undefined ? [] : [service]))),
    containers: async (service) => (await compose('ps', '--quiet', service)).split('\n').filter(Boolean),
    run: async (service, ...args) => await compose('run', '--rm', '--no-deps', '-T', service, ...args),
    scale: async (service, count) =>
      void (await compose(
        'up',
        '--detach',
        '--no-deps',
        '--no-recreate',
        '--wait',
        '--scale',
        `${service}=${count}`,
        service,
      )),
    roll: async () => void (await runProgram('sh', [join(projectRoot, 'deploy/roll.sh')], environment)),
    reset: async () => void (await compose('down', '--volumes', '--timeout', '40')),
    async down() {
      await compose('down', '--volumes', '--timeout', '40')
      await engine.run('volume', 'prune', '--force', '--filter', `label=com.docker.compose.project=${projectName}`)
      await rm(folder, { recursive: true, force: true })
    },
  }
}
