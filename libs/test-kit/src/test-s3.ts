import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

const keys = {
  accessKeyId: 'AKTEST',
  secretAccessKey: 'a secret key of the tests',
  sessionToken: 'a session of the tests',
}
const region = 'test-1'
const pageLength = 3

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

export type TestS3 = Awaited<ReturnType<typeof startS3>>

/**
 * What uploads need of S3, with one bucket in memory: PUT, GET with ranges, HEAD, DELETE, and ListObjectsV2 in short
 * pages. It verifies Signature Version 4 from the published algorithm, with a date, the session and the hash of the content.
 */
export async function startS3({ port = 0 } = {}) {
  const bucket = 'test-bucket'
  const objects = new Map<string, Buffer>()
  /** Of a request that it answers with a status instead, or with headers before it closes the connection. */
  type Fault = number | 'cut' | undefined
  const faults: { next: ((method: string, key: string) => Fault) | undefined } = { next: undefined }
  const server = createServer((request, response) => {
    void buffer(request).then((body) => answer(request, response, body))
  })

  function answer(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://s3')
    const [, askedBucket, ...path] = pathname.split('/')
    const key = decodeURIComponent(path.join('/'))
    const method = request.method ?? ''
    const fail = (status: number, code: string) =>
      void response.writeHead(status).end(method === 'HEAD' ? undefined : `<Error><Code>${code}</Code></Error>`)
    const fault = faults.next?.(method, key)
    const refusal = fault ? undefined : refusalOf(request, body)
    if (fault && fault !== 'cut') return fail(fault, 'SlowDown')
    if (refusal) return fail(403, refusal)
    if (askedBucket !== bucket) return fail(404, 'NoSuchBucket')
    if (key === '') return void response.end(method === 'HEAD' ? undefined : list(searchParams))
    if (method === 'PUT') {
      if (request.headers['content-length'] === undefined) return fail(411, 'MissingContentLength')
      objects.set(key, body)
      return void response.end()
    }
    if (method === 'DELETE') return void (objects.delete(key), response.writeHead(204).end())
    const content = objects.get(key)
    if (!content) return fail(404, 'NoSuchKey')
    const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
    const part = start === undefined ? content : content.subarray(Number(start), Number(end) + 1)
    response.writeHead(start === undefined ? 200 : 206, {
      'content-length': part.length,
      ...(start !== undefined && { 'content-range': `bytes ${start}-${end}/${content.length}` }),
    })
    if (fault !== 'cut') return void response.end(method === 'HEAD' ? undefined : part)
    response.flushHeaders()
    setTimeout(() => response.destroy(), 20)
  }

  function list(query: URLSearchParams): string {
    const prefix = query.get('prefix') ?? ''
    const names = [...objects.keys()].filter((key) => key.startsWith(prefix)).toSorted()
    const from = names.findIndex((key) => key > (query.get('continuation-token') ?? ''))
    const page = from < 0 ? [] : names.slice(from, from + pageLength)
    const isCut = from >= 0 && from + pageLength < names.length
    const contents = page.map((key) => `<Contents><Key>${key}</Key><Size>${objects.get(key)?.length}</Size></Contents>`)
    const next = isCut ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''
    return `<ListBucketResult><IsTruncated>${isCut}</IsTruncated>${contents.join('')}${next}</ListBucketResult>`
  }

  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    objects,
    faults,
    config: { endpoint, bucket, prefix: 'some/where/', region, ...keys },
    environment: {
      UPLOAD_STORE: `s3://${bucket}/some/where`,
      AWS_ENDPOINT_URL: endpoint,
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: keys.accessKeyId,
      AWS_SECRET_ACCESS_KEY: keys.secretAccessKey,
      AWS_SESSION_TOKEN: keys.sessionToken,
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      if (server.listening) await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A code of S3, or undefined when the signature is right. */
function refusalOf(request: IncomingMessage, body: Buffer): string | undefined {
  const { headers } = request
  const authorization =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    )
  if (!authorization) return 'AccessDenied'
  const [, accessKeyId, day = '', statedRegion = '', signedHeaders = '', signature = ''] = authorization
  const names = signedHeaders.split(';')
  const value = (name: string) =>
    String(headers[name] ?? '')
      .trim()
      .replace(/ +/g, ' ')
  const time = value('x-amz-date')
  const at = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  const isNow = time.startsWith(day) && Math.abs(Date.now() - at) < 15 * 60 * 1000
  if (accessKeyId !== keys.accessKeyId || statedRegion !== region) return 'InvalidAccessKeyId'
  if (!isNow) return 'RequestTimeTooSkewed'
  if (!['host', 'x-amz-date', 'x-amz-content-sha256', 'x-amz-security-token'].every((name) => names.includes(name)))
    return 'AccessDenied'
  if (value('x-amz-security-token') !== keys.sessionToken) return 'InvalidToken'
  const hash = value('x-amz-content-sha256')
  if (hash !== 'UNSIGNED-PAYLOAD' && hash !== sha256(body)) return 'XAmzContentSHA256Mismatch'
  const [path = '', query = ''] = (request.url ?? '').split('?')
  const canonical = [
    request.method,
    path,
    query.split('&').filter(Boolean).toSorted().join('&'),
    ...names.map((name) => `${name}:${value(name)}`),
    '',
    signedHeaders,
    hash,
  ].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const toSign = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${sha256(canonical)}`
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${keys.secretAccessKey}`)
  return timingSafeEqual(hmac(key, toSign), Buffer.from(signature, 'hex')) ? undefined : 'SignatureDoesNotMatch'
}
