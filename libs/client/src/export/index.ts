import type { Api, CallOptions } from '../api/api.ts'
import type { DataExport } from '../api/records.ts'
import { systemClock, type ClientClock } from '../platform.ts'
import { anySignal } from '../wait.ts'

/** `onProgress` gets the bytes received. The total is unknown. */
export type ExportOptions = CallOptions & { onProgress?: ((bytes: number) => void) | undefined; clock?: ClientClock }

const stallMs = 30_000

/** The archive of the own data. Throws as `client.call`, and TimeoutError when nothing comes for 30 s. */
export async function exportData(
  { call }: Pick<Api, 'call'>,
  body: DataExport,
  { onProgress, signal, clock = systemClock }: ExportOptions = {},
): Promise<Blob> {
  const stalled = new AbortController()
  let timer: unknown
  const extend = () => {
    clock.clearTimeout(timer)
    timer = clock.setTimeout(() => stalled.abort(new DOMException('The download timed out.', 'TimeoutError')), stallMs)
  }
  extend()
  try {
    const response = await call('exportData', {
      body,
      signal: anySignal(stalled.signal, signal),
    })
    const parts: BlobPart[] = []
    let bytes = 0
    for (let reader = response.body?.getReader(); reader;) {
      const { value, done } = await reader.read()
      if (done) break
      parts.push(value)
      onProgress?.((bytes += value.length))
      extend()
    }
    return new Blob(parts, { type: 'application/zip' })
  } finally {
    clock.clearTimeout(timer)
  }
}
