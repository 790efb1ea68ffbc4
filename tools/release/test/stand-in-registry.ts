import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { digestOf } from '../registry.ts'
import { packTar } from '../tar.ts'

export type Base = { blobs: Map<string, Buffer>; index: string }

const platform = { os: 'linux', architecture: 'amd64' }

/** The digest of an index with this manifest alone, which it adds. */
export function addIndex(blobs: Map<string, Buffer>, manifest: string): Base {
  const index = { schemaVersion: 2, manifests: [{ digest: manifest, size: blobs.get(manifest)?.length, platform }] }
  return { blobs, index: addBlob(blobs, Buffer.from(JSON.stringify(index))).digest }
}

/** A small image for one platform. */
export async function makeBase(): Promise<Base> {
  const blobs = new Map<string, Buffer>()
  const addObject = (content: object) => addBlob(blobs, Buffer.from(JSON.stringify(content)))
  const layer = await packTar([{ name: 'etc/platform', body: Buffer.from(platform.architecture) }], new Date(0))
  const config = addObject({
    ...platform,
    config: { Env: ['PATH=/bin'] },
    rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
  })
  const manifest = addObject({ schemaVersion: 2, config, layers: [addBlob(blobs, gzipSync(layer))] })
  return addIndex(blobs, manifest.digest)
}

function addBlob(blobs: Map<string, Buffer>, body: Buffer) {
  blobs.set(digestOf(body), body)
  return { digest: digestOf(body), size: body.length }
}

/** A registry on loopback that has this image under every name and tag. It wants a token, as public ones do. */
export async function startRegistry({ blobs, index }: Base) {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost')
    if (url.pathname === '/token') return response.end(JSON.stringify({ token: url.searchParams.get('scope') }))
    const [, repository = '', reference = ''] = /^\/v2\/(.+)\/(?:manifests|blobs)\/([^/]+)$/.exec(url.pathname) ?? []
    const scope = `repository:${repository}:pull`
    if (request.headers.authorization !== `Bearer ${scope}`) {
      const challenge = `Bearer realm="${origin}/token",service="stand-in",scope="${scope}"`
      return response.writeHead(401, { 'www-authenticate': challenge }).end()
    }
    const body = blobs.get(reference.startsWith('sha256:') ? reference : index)
    return response.writeHead(body ? 200 : 404).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    blobs,
    index,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
