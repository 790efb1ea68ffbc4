import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import sharp from 'sharp'
import { policy } from '../policy.ts'
import { createImageConverter } from './image-converter.ts'

describe('the image converter', () => {
  it('queues a bounded number of images and refuses the rest with 503', async () => {
    await using opening = new AsyncDisposableStack()
    const folder = opening.adopt(await mkdtemp(join(tmpdir(), 'images-')), (made) => rm(made, { recursive: true }))
    const path = join(folder, 'a.png')
    await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
      .png()
      .toFile(path)
    const { convert } = createImageConverter()

    const outcomes = await Promise.allSettled(Array.from({ length: policy.imageQueue + 3 }, () => convert(path)))

    const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
    expect(refused).to.have.length(3)
    expect(refused[0]!.reason).to.include({ code: 'images_busy', status: 503 })
    expect((await convert(path)).length).to.be.greaterThan(0)
  })
})
