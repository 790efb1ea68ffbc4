import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where images of others are named. */
const files = ['deploy/Dockerfile', 'docker-compose.yml'] as const
const namedImage = /^(FROM (?:--platform=\S+ )?| +image: )([\w./-]+):([\w.-]+)(?:@(sha256:[0-9a-f]{64}))?(?= |$)/gm

type BaseImage = { name: string; tag: string; digest: string | null }

/** The images that ours and the compose file start from; of those of one tag, one. */
export function readBaseImages(root: string): BaseImage[] {
  const matches = files.flatMap((file) => [...readFileSync(join(root, file), 'utf8').matchAll(namedImage)])
  const images = matches.map(([, , name = '', tag = '', digest = null]) => ({ name, tag, digest }))
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
