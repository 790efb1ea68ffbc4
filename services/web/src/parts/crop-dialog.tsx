import { useEffect, useRef, useState, type KeyboardEvent, type PointerEvent } from 'react'
import { Button } from './button.tsx'
import { dragged, keepInside, maxZoom, startView, visibleSquare } from './crop-geometry.ts'
import { Dialog, DialogActions } from './dialog.tsx'

const outputSide = 512

type Props = { picture: ImageBitmap; onCrop: (cropped: Blob) => void; onClose: () => void }

/** Chooses the square of a picture that becomes the avatar: by dragging, by arrow keys, by the zoom slider. */
export function CropDialog({ picture, onCrop, onClose }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [view, setView] = useState(() => startView(picture))

  useEffect(() => {
    const { left, top, side } = visibleSquare(picture, view)
    const paper = canvas.current?.getContext('2d')
    paper?.clearRect(0, 0, outputSide, outputSide)
    paper?.drawImage(picture, left, top, side, side, 0, 0, outputSide, outputSide)
  }, [picture, view])

  const drag = (event: PointerEvent<HTMLCanvasElement>) => {
    if (event.buttons === 0) return
    const stage = event.currentTarget.clientWidth
    setView((now) => dragged(picture, now, { x: event.movementX, y: event.movementY }, stage))
  }
  const nudge = (event: KeyboardEvent) => {
    const by = { ArrowLeft: [12, 0], ArrowRight: [-12, 0], ArrowUp: [0, 12], ArrowDown: [0, -12] }[event.key]
    if (!by) return
    event.preventDefault()
    setView((now) => dragged(picture, now, { x: by[0] ?? 0, y: by[1] ?? 0 }, 280))
  }
  const finish = () => canvas.current?.toBlob((blob) => blob && onCrop(blob), 'image/png')

  return (
    <Dialog title="Frame your picture" onClose={onClose}>
      <canvas
        ref={canvas}
        className="crop-stage"
        width={outputSide}
        height={outputSide}
        tabIndex={0}
        role="application"
        aria-label="Picture. Use the arrow keys to move it."
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={drag}
        onKeyDown={nudge}
      />
      <label className="crop-zoom">
        <span className="field__label">Zoom</span>
        <input
          type="range"
          min={1}
          max={maxZoom}
          step={0.05}
          value={view.zoom}
          onChange={(event) => {
            const zoom = Number(event.target.value)
            setView((now) => keepInside(picture, { ...now, zoom }))
          }}
        />
      </label>
      <p className="small quiet">Drag the picture, or use the arrow keys.</p>
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" onClick={finish}>
          Use this picture
        </Button>
      </DialogActions>
    </Dialog>
  )
}
