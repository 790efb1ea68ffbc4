import { createHash } from 'node:crypto'
import { createReadStream, openAsBlob } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { S3Config } from '@gatehouse/service-kit'
import { AwsClient } from 'aws4fetch'
import { policy } from './policy.ts'
import { isUploadName } from './upload-files.ts'
import { UploadStoreRefused, UploadStoreUnavailable, type UploadStore } from './upload-store.ts'

type Sent = { method?: 'HEAD' | 'GET' | 'PUT' | 'DELETE'; headers?: Record<string, string>; body?: Blob }

/**
 * An object for each upload, by the path style that every provider knows. The address is the operator's word: outbound
 * rules, which judge what others name, do not apply. Every request has a connection of its own, so none waits for a
 * slow reader of another one.
 */
// eslint-disable-next-line max-lines-per-function -- the operations of one store
export function createS3Store(config: S3Config): UploadStore {
  const { endpoint, bucket, prefix, region, accessKeyId, secretAccessKey, sessionToken } = config
  const name = `s3://${bucket}/${prefix}`
  const root = `${endpoint}/${bucket}`
  const keys = { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) }
  const client = new AwsClient({ ...keys, region, service: 's3', retries: policy.s3Retries })

  /** Null when there is no such object. */
  async function send(url: string, { method = 'GET', headers = {}, body }: Sent = {}): Promise<Response | null> {
    const limit = new AbortController()
    const limitMs = policy.s3AnswerMs + (body?.size ?? 0) / policy.s3BytesPerMs
    const timer = setTimeout(() => limit.abort(new Error('no answer in time')), limitMs)
    try {
      const given = { method, headers, ...(body && { body }), signal: limit.signal, redirect: 'manual' } as const
      const answer = await client.fetch(url, given)
      if (answer.ok) return answer
      const code = /<Code>(\w{1,64})<\/Code>/.exec(await answer.text())?.[1] ?? ''
      // An answer to HEAD has no code.
      if (answer.status === 404 && url !== root && code !== 'NoSuchBucket') return null
      const Fault = answer.status >= 500 || answer.status === 429 ? UploadStoreUnavailable : UploadStoreRefused
      throw new Fault(`${name} at ${endpoint} answered ${answer.status} ${code}`.trim())
    } catch (cause) {
      if (cause instanceof UploadStoreUnavailable) throw cause
      throw new UploadStoreUnavailable(`${name} at ${endpoint} does not answer`, { cause })
    } finally {
      clearTimeout(timer)
    }
  }

  async function* chunksOf(body: AsyncIterable<Uint8Array> | []): AsyncGenerator<Uint8Array> {
    try {
      yield* body
    } catch (cause) {
      throw new UploadStoreUnavailable(`${name} at ${endpoint} broke off`, { cause })
    }
  }

  const ofName = (upload: string, sent: Sent = {}) =>
    isUploadName(upload) ? send(`${root}/${prefix}${upload}`, sent) : Promise.resolve(null)

  return {
    name,
    check: async () => void (await send(root, { method: 'HEAD' })),
    find: async (upload) => {
      const answer = await ofName(upload, { method: 'HEAD' })
      return answer && { size: Number(answer.headers.get('content-length')) }
    },
    open: async (upload, range) => {
      const answer = await ofName(upload, range && { headers: { range: `bytes=${range.start}-${range.end}` } })
      if (!answer) return null
      const { headers, body } = answer
      const size = Number(headers.get('content-range')?.split('/')[1] ?? headers.get('content-length'))
      return { size, content: Readable.from(chunksOf(body ?? []), { objectMode: false }) }
    },
    put: async (upload, path) => {
      // The server compares it with what it got.
      const hash = createHash('sha256')
      await pipeline(createReadStream(path), hash)
      const headers = { 'x-amz-content-sha256': hash.digest('hex'), 'content-type': 'application/octet-stream' }
      const answer = await ofName(upload, { method: 'PUT', headers, body: await openAsBlob(path) })
      if (!answer) throw new UploadStoreRefused(`${name} at ${endpoint} does not take objects`)
      await answer.body?.cancel()
    },
    remove: async (upload) => void (await (await ofName(upload, { method: 'DELETE' }))?.body?.cancel()),
    list: async function* () {
      let token: string | undefined
      do {
        const query = { 'list-type': '2', prefix, ...(token !== undefined && { 'continuation-token': token }) }
        const page = (await (await send(`${root}?${new URLSearchParams(query)}`))?.text()) ?? ''
        for (const [, object = ''] of page.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
          const upload = textOf(object, 'Key').slice(prefix.length)
          if (isUploadName(upload)) yield { name: upload, size: Number(textOf(object, 'Size')) }
        }
        token = textOf(page, 'NextContinuationToken').replaceAll('&amp;', '&') || undefined
      } while (token !== undefined)
    },
  }
}

/** Keys of uploads need no escapes. */
function textOf(xml: string, element: string): string {
  return new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1] ?? ''
}
