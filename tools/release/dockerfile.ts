import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where images of others are named. */
const files = ['deploy/Dockerfile', 'docker-compose.yml'] as const
const namedImage = /^(FROM | +image: )([\w./-]+):([\w.-]+)(?:@(sha256:[0-9a-f]{64}))?(?= |$)/gm

type BaseImage = { name: string; tag: string; digest: string | null }

/** The images that ours and the compose file start from; of those of one tag, one. */
export function readBaseImages(root: string): BaseImage[] {
  const found = files.flatMap((file) => [...readFileSync(join(root, file), 'utf8').matchAll(namedImage)])
  const images = found.map(([, , name = '', tag = '', digest = null]) => ({ name, tag, digest }))
  const others = images.filter(({ name }) => name !== 'gatehouse')
  return [...new Map(others.map((image) => [`${image.name}:${image.tag}`, image])).values()]
}

/** Writes each digest beside its tag, wherever the image is named. */
export function writeDigests(root: string, digests: ReadonlyMap<string, string>): void {
  for (const file of files) {
    const text = readFileSync(join(root, file), 'utf8')
    const renewed = text.replaceAll(namedImage, (whole, before: string, name: string, tag: string) => {
      const digest = digests.get(`${name}:${tag}`)
      return digest ? `${before}${name}:${tag}@${digest}` : whole
    })
    if (renewed !== text) writeFileSync(join(root, file), renewed)
  }
}

type Copy = { from: string; to: string; owner: number }
type Config = { Env: string[]; WorkingDir: string; User: string; Entrypoint: string[]; Cmd: string[] }
export type FinalStage = { base: BaseImage; copies: Copy[]; config: Config }

/** The last stage of the Dockerfile, which only copies folders of the stage before. Throws on what it does not know. */
export function readFinalStage(root: string): FinalStage {
  const text = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8')
  const stage = text.slice(text.lastIndexOf('\nFROM ') + 1)
  const [[, , name = '', tag = '', digest = null] = []] = stage.matchAll(namedImage)
  const config: Config = { Env: [], WorkingDir: '/', User: '', Entrypoint: [], Cmd: [] }
  const copies: Copy[] = []
  for (const line of stage.split('\n').slice(1)) {
    const [, word, rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? []
    if (word === 'ENV') config.Env.push(...rest.split(' '))
    else if (word === 'WORKDIR') config.WorkingDir = rest
    else if (word === 'USER') config.User = rest
    else if (word === 'ENTRYPOINT') config.Entrypoint = JSON.parse(rest) as string[]
    else if (word === 'CMD') config.Cmd = JSON.parse(rest) as string[]
    else if (word === 'COPY') copies.push(readCopy(rest))
    else if (line !== '' && !line.startsWith('#')) throw new Error(`deploy/Dockerfile: the release knows no "${line}"`)
  }
  return { base: { name, tag, digest }, copies, config }
}

function readCopy(text: string): Copy {
  const [, owner = '0', from, to] = /^--from=build (?:--chown=(\d+):\d+ )?\S*\/image\/(\S+) (\/\S*)$/.exec(text) ?? []
  if (!from || !to) throw new Error(`deploy/Dockerfile: the release knows no "COPY ${text}"`)
  return { from, to, owner: Number(owner) }
}
