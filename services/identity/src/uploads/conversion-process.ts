import { writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import sharp from 'sharp'
import { serveJobs } from '../child-process/serve-jobs.ts'
import { policy } from '../policy.ts'
import { decodingBytes } from './decoding-cost.ts'

/** `path`: the file as received. `target`: where its WebP is written. */
export type ConversionJob = { id: number; path: string; target: string }

export type Conversion = { bytes: number } | { refusal: 'image_unreadable' | 'image_too_large' | 'image_too_costly' }

/** No other decoder opens a file. */
const decoders = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif'].map((format) => `VipsForeignLoad${format}`)
const formats = new Set(['jpeg', 'png', 'webp', 'gif'])

async function convert({ path, target }: ConversionJob): Promise<Conversion> {
  let image: Buffer
  try {
    const refusal = await refusalOf(path)
    if (refusal) return { refusal }
    image = await sharp(path, { limitInputPixels: policy.imagePixelsMax, failOn: 'error' })
      .autoOrient()
      .resize({ width: policy.imageSideMax, height: policy.imageSideMax, fit: 'inside', withoutEnlargement: true })
      .webp()
      .toBuffer()
  } catch {
    return { refusal: 'image_unreadable' }
  }
  await writeFile(target, image)
  return { bytes: image.length }
}

/** Reads the header only. Contract: 3, uploads. */
async function refusalOf(path: string) {
  const header = await sharp(path, { limitInputPixels: false }).metadata()
  const isAvif = header.format === 'heif' && header.compression === 'av1'
  if (!isAvif && !formats.has(header.format)) return 'image_unreadable'
  if (header.width * header.height > policy.imagePixelsMax) return 'image_too_large'
  const budget = policy.imageMemoryBytes - policy.imageProcessBytes
  return decodingBytes(header) > budget ? 'image_too_costly' : undefined
}

try {
  writeFileSync('/proc/self/oom_score_adj', '1000') // without memory the kernel ends this process, not the service
} catch {
  // Other systems have none.
}
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({ operation: decoders })
sharp.concurrency(1)
sharp.cache(false)
serveJobs(convert)
