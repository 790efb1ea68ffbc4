import { type KeyboardEvent, type PointerEvent, useEffect, useRef, useState } from 'react'
import { clampView, dragView, maxZoom, initialView, visibleSquare } from './crop-geometry.ts'
import { Dialog } from './dialog.tsx'
import type { Picture } from '../kept-state.ts'
import { t } from '../language/language.ts'

const outputSide = 512

type Props = { picture: ImageBitmap; file: File; onCrop: (cropped: Picture) => void; onClose: () => void }

// eslint-disable-next-line max-lines-per-function -- one picture, and what moves it
export function CropDialog({ picture, file, onCrop, onClose }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [view, setView] = useState(() => initialView(picture))

  useEffect(() => {
    const { left, top, side } = visibleSquare(picture, view)
    const context = canvas.current?.getContext('2d')
    context?.clearRect(0, 0, outputSide, outputSide)
    context?.drawImage(picture, left, top, side, side, 0, 0, outputSide, outputSide)
  }, [picture, view])

  const drag = (event: PointerEvent<HTMLCanvasElement>) => {
    if (event.buttons === 0) return
    const side = event.currentTarget.clientWidth
    setView((current) => dragView(picture, current, { x: event.movementX, y: event.movementY }, side))
  }
  const moveByKey = (event: KeyboardEvent) => {
    const movement = { ArrowLeft: [12, 0], ArrowRight: [-12, 0], ArrowUp: [0, 12], ArrowDown: [0, -12] }[event.key]
    if (!movement) return
    event.preventDefault()
    setView((current) => dragView(picture, current, { x: movement[0] ?? 0, y: movement[1] ?? 0 }, 280))
  }
  const crop = () => {
    if (!readsCanvas()) {
      // The server cuts what cannot be read back here.
      const { left, top, side } = visibleSquare(picture, view)
      return onCrop({ blob: file, crop: [left, top, side].map(Math.round).join() })
    }
    canvas.current?.toBlob((blob) => blob && onCrop({ blob, crop: null }), 'image/png')
  }

  return (
    <Dialog
      dialog="CropDialog"
      title={t('Crop image')}
      submit={t('Use this image')}
      focus="submit"
      onSubmit={crop}
      onClose={onClose}
    >
      <canvas
        ref={canvas}
        className="crop-canvas"
        width={outputSide}
        height={outputSide}
        tabIndex={0}
        role="application"
        aria-label={t('Image. Use the arrow keys to move it.')}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={drag}
        onKeyDown={moveByKey}
      />
      <label className="crop-zoom">
        <span className="field__label">{t('Zoom')}</span>
        <input
          type="range"
          name="zoom"
          id="zoom"
          min={1}
          max={maxZoom}
          step={0.05}
          value={view.zoom}
          onChange={(event) => {
            const zoom = Number(event.target.value)
            setView((current) => clampView(picture, { ...current, zoom }))
          }}
        />
      </label>
      <p className="small muted">{t('Drag the image or use the arrow keys.')}</p>
    </Dialog>
  )
}

/** A browser that resists fingerprinting gives noise, at least where the colors differ, or nothing. */
function readsCanvas(): boolean {
  const context = document.createElement('canvas').getContext('2d')
  const pixels = Uint8ClampedArray.from({ length: 16 * 16 * 4 }, (_, at) => (at % 4 === 3 ? 255 : (at * 37) % 256))
  context?.putImageData(new ImageData(pixels, 16), 0, 0)
  const read = context?.getImageData(0, 0, 16, 16).data
  return pixels.every((value, at) => value === read?.[at])
}
