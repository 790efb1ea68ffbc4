import sharp from 'sharp'
import {
  createDataFolder,
  registerAccount,
  startEmbeddedInstance,
  type BenchAccount,
  type EmbeddedInstance,
} from '../embedded-instance.ts'

export type BenchInstance = Pick<EmbeddedInstance, 'url' | 'port'> &
  AsyncDisposable & {
    other: BenchAccount
    /** So many that each stays below the number of sockets of one account. */
    slow: readonly BenchAccount[]
    /** An upload that anybody may read. */
    file: string
  }

const slowAccounts = 7

/** An embedded instance behind a proxy that it trusts, with accounts and a picture. */
export async function startBenchInstance(): Promise<BenchInstance> {
  await using opening = new AsyncDisposableStack()
  const folder = opening.use(await createDataFolder())
  const { url, port } = opening.use(await startEmbeddedInstance(folder.path, { TRUST_PROXY: 'loopback' }))
  const other = await registerAccount(url, 'other')
  const slow: BenchAccount[] = []
  for (let count = 0; count < slowAccounts; count += 1) slow.push(await registerAccount(url, `slow_${count}`))
  const file = await uploadPicture(url, other)
  const open = opening.move()
  return { url, port, other, slow, file, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Noise, which compresses badly: some hundred kilobytes. */
async function uploadPicture(url: string, { token }: BenchAccount): Promise<string> {
  const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const
  const create = { width: 512, height: 512, channels: 3, background: '#808080', noise } as const
  const picture = await sharp({ create }).png().toBuffer()
  const body = new FormData()
  body.set('file', new File([new Uint8Array(picture)], 'noise.png'))
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${url}/api/uploads`, { method: 'POST', headers, body })
  if (response.status !== 201) throw new Error(`the upload answered ${response.status}: ${await response.text()}`)
  return ((await response.json()) as { filename: string }).filename
}
