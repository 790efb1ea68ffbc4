import { isRefusal } from '@gatehouse/runtime'
import sharp from 'sharp'
import { refuse } from '../errors.ts'
import { policy } from '../policy.ts'

export type ImageConverter = {
  /**
   * An image of any accepted format as WebP, upright, without metadata, fitted into the largest side; of an animation the
   * first frame. Throws image_unreadable, image_too_large, images_busy. Contract: 3, uploads.
   */
  convert(path: string): Promise<Buffer>
}

/** The only decoders that may open a file, whatever its content claims to be. */
const decoders = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif'].map((format) => `VipsForeignLoad${format}`)
const formats = new Set(['jpeg', 'png', 'webp', 'gif'])

/** Converts one image at a time, in this process: a bound on memory and processor time, whatever is uploaded. */
export function createImageConverter(): ImageConverter {
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: decoders })
  sharp.concurrency(1)
  sharp.cache(false)
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  return {
    convert: async (path) => {
      if (waiting >= policy.imageQueue) {
        throw refuse.images_busy({ headers: { 'Retry-After': String(policy.imagesRetryAfterSeconds) } })
      }
      waiting += 1
      const converted = last.then(() => convert(path))
      last = converted.catch(() => undefined).finally(() => (waiting -= 1))
      return await converted
    },
  }
}

async function convert(path: string): Promise<Buffer> {
  try {
    await refuseUnfit(path)
    return await sharp(path, { limitInputPixels: policy.imagePixelsMax, failOn: 'error' })
      .timeout({ seconds: policy.imageSeconds })
      .autoOrient()
      .resize({ width: policy.imageSideMax, height: policy.imageSideMax, fit: 'inside', withoutEnlargement: true })
      .webp()
      .toBuffer()
  } catch (cause) {
    throw isRefusal(cause) ? cause : refuse.image_unreadable({ cause })
  }
}

/** Reads the header only. All frames of an animation count. */
async function refuseUnfit(path: string): Promise<void> {
  const { format, compression, width, height, pages = 1 } = await sharp(path, { limitInputPixels: false }).metadata()
  const isAvif = format === 'heif' && compression === 'av1'
  if (!isAvif && !formats.has(format)) throw refuse.image_unreadable()
  if (width * height * pages > policy.imagePixelsMax) throw refuse.image_too_large()
}
