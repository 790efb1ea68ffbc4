import { createHash } from 'node:crypto'

export const defaultRegistry = 'https://registry-1.docker.io'

const limitMs = 300_000
const mediaTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
]

type Platform = { os: string; architecture: string }
export type Descriptor = { mediaType: string; digest: string; size: number; platform?: Platform }
export type Manifest = { manifests?: Descriptor[]; config?: Descriptor; layers?: Descriptor[] }
type Fetched = { digest: string; body: Buffer }

export const digestOf = (body: Buffer): string => `sha256:${createHash('sha256').update(body).digest('hex')}`

/** Reads public images, as the distribution specification of OCI has it, with the anonymous token that a registry asks for. */
export function openRegistry(origin: string) {
  const tokens = new Map<string, string>()
  const get = async (name: string, path: string): Promise<Fetched> => {
    // Official images have no owner in their names.
    const repository = name.includes('/') ? name : `library/${name}`
    const url = new URL(`/v2/${repository}/${path}`, origin)
    const request = () => {
      const token = tokens.get(repository)
      const headers = { accept: mediaTypes.join(), ...(token ? { authorization: `Bearer ${token}` } : {}) }
      return fetch(url, { headers, signal: AbortSignal.timeout(limitMs) }).catch((cause: unknown) => {
        throw new Error(`${url.origin} does not answer`, { cause })
      })
    }
    let answer = await request()
    if (answer.status === 401) {
      tokens.set(repository, await fetchToken(answer.headers.get('www-authenticate') ?? ''))
      answer = await request()
    }
    if (!answer.ok) throw new Error(`${url.href} was answered with ${answer.status}`)
    const body = Buffer.from(await answer.arrayBuffer())
    const digest = digestOf(body)
    const [, asked = digest] = /\/(sha256:[0-9a-f]{64})$/.exec(path) ?? []
    if (asked !== digest) throw new Error(`${url.href} has another digest: ${digest}`)
    return { digest, body }
  }
  return {
    /** By a tag or a digest. */
    fetchManifest: (name: string, reference: string): Promise<Fetched> => get(name, `manifests/${reference}`),
    fetchBlob: (name: string, digest: string): Promise<Fetched> => get(name, `blobs/${digest}`),
  }
}

export type Registry = ReturnType<typeof openRegistry>

async function fetchToken(challenge: string): Promise<string> {
  const field = (name: string): string | undefined => new RegExp(`${name}="([^"]*)"`).exec(challenge)?.[1]
  const realm = field('realm')
  if (!realm) throw new Error(`the registry asks for something else than a token: ${challenge}`)
  const url = new URL(realm)
  for (const name of ['service', 'scope']) url.searchParams.set(name, field(name) ?? '')
  const answer = await fetch(url, { signal: AbortSignal.timeout(limitMs) })
  if (!answer.ok) throw new Error(`${url.origin} gave no token: ${answer.status}`)
  return ((await answer.json()) as { token: string }).token
}
